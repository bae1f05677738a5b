"""What each family of learned rules does to a URL that a rewrite covers.

All functions are total. They return the same object if they change nothing.
"""

import re

from canonry.canon.learned.rewrite import Rewrite
from canonry.canon.rules import practice
from canonry.canon.syntax import query
from canonry.canon.syntax.parts import Parts

# A letter says what a token is for: S a session, A an anonymous user, F a ticket of a log-in.
SESSION_SEGMENT = re.compile(r"/\((?:[A-Za-z]\([0-9A-Za-z_\-]+\))+\)(?=/)")
_PLAIN_HOST = re.compile(r"[a-z0-9\-]+(?:\.[a-z0-9\-]+)*")  # RFC 1123 section 2.1


def upgrade_scheme(parts: Parts, _rewrite: Rewrite) -> Parts:
    """Replace http with https."""
    return parts._replace(scheme="https") if parts.scheme == "http" else parts


def rename_host(parts: Parts, rewrite: Rewrite) -> Parts:
    """Replace one host name with another."""
    return parts._replace(host=rewrite.new) if parts.host == rewrite.host else parts


def fold_slashes(parts: Parts, _rewrite: Rewrite) -> Parts:
    """Replace several slashes in a path with one."""
    return practice.fold_slashes(parts)


def move_prefix(parts: Parts, rewrite: Rewrite) -> Parts:
    """Replace the beginning of a path."""
    if not parts.path.startswith(rewrite.old):
        return parts
    return parts.with_path(rewrite.new + parts.path[len(rewrite.old) :])


def drop_index_file(parts: Parts, rewrite: Rewrite) -> Parts:
    """Remove the name of a directory's default document, if the URL has no query."""
    directory, slash, name = parts.path.rpartition("/")
    if name != rewrite.old or parts.query is not None:
        return parts
    return parts.with_path(directory + slash)


def lower_path(parts: Parts, _rewrite: Rewrite) -> Parts:
    """Convert a path to lower case, except for the digits of percent-escapes."""
    path = practice.lower_letters(Parts(None, None, None, None, parts.path, None, None)).path
    return parts if path == parts.path else parts.with_path(path)


def drop_path_parameter(parts: Parts, rewrite: Rewrite) -> Parts:
    """Remove a parameter from the segments of a path (RFC 3986 section 3.3)."""
    if ";" not in parts.path or rewrite.old not in parts.path:
        return parts
    segments = (_without(segment, rewrite.old) for segment in parts.path.split("/"))
    path = "/".join(segments)
    return parts if path == parts.path else parts.with_path(path)


def drop_session_segment(parts: Parts, _rewrite: Rewrite) -> Parts:
    """Remove the segments with which ASP.NET keeps sessions without cookies: ``/(S(…))``."""
    if "/(" not in parts.path:
        return parts
    path = SESSION_SEGMENT.sub("", parts.path)
    return parts if path == parts.path else parts.with_path(path)


def _without(segment: str, name: str) -> str:
    """Remove a parameter from a segment, unless a dot segment would be left."""
    first, *given = segment.split(";")
    shorter = ";".join([first, *(one for one in given if query.name(one) != name)])
    return segment if shorter.lower().replace("%2e", ".") in {".", ".."} else shorter


def set_final_slash(parts: Parts, rewrite: Rewrite) -> Parts:
    """Add or remove the slash at the end of a path that is not the root."""
    path = parts.path
    bare = path.removesuffix("/")
    wanted = bare + "/" if rewrite.new == "slash" else bare
    if wanted == path or not bare or bare.endswith("/"):
        return parts
    name, _, extension = bare[bare.rfind("/") + 1 :].rpartition(".")
    is_file = name != "" and extension != ""
    if is_file is not (rewrite.new == "file"):
        return parts
    return parts.with_path(wanted)


def drop_parameter(parts: Parts, rewrite: Rewrite) -> Parts:
    """Remove a parameter, if the others are those in ``beside``, with its values if it has any."""
    query_text, old = parts.query, rewrite.old
    if not query_text or old not in query_text:
        return parts
    if "&" not in query_text:
        if query.name(query_text) != old or rewrite.beside:
            return parts
        return parts.with_query(None)
    names = query.names(query_text)
    others = tuple(sorted({*names} - {old}))
    if old not in names or others != tuple(map(query.name, rewrite.beside)):
        return parts
    fields = zip(query.fields(query_text), names, strict=True)
    rest = [field for field, name in fields if name != old]
    if any("=" in one and one not in rest for one in rewrite.beside):
        return parts
    return parts.with_query("&".join(rest) if rest else None)


def drop_parameters(parts: Parts, rewrite: Rewrite) -> Parts:
    """Remove several parameters, if all are there and the names of all others are in ``beside``."""
    if not parts.query or "&" not in parts.query:
        return parts
    all_names = {*rewrite.old.split("&"), *rewrite.beside}
    return drop_mixed(parts, rewrite) if all_names.issubset(query.names(parts.query)) else parts


def drop_mixed(parts: Parts, rewrite: Rewrite) -> Parts:
    """Remove whichever of several parameters are there, if the others are those in ``beside``."""
    if not parts.query:
        return parts
    fields = query.fields(parts.query)
    dropped = rewrite.old.split("&")
    rest = [field for field in fields if query.name(field) not in dropped]
    if len(rest) == len(fields) or (names_of(rest) if rest else ()) != rewrite.beside:
        return parts
    return parts.with_query("&".join(rest) if rest else None)


def drop_default(parts: Parts, rewrite: Rewrite) -> Parts:
    """Remove fields, if each is there once and the names of all others are those in ``beside``."""
    if not parts.query:
        return parts
    removed, fields = query.fields(rewrite.old), query.fields(parts.query)
    rest = [field for field in fields if field not in removed]
    if sorted(field for field in fields if field in removed) != sorted(removed):
        return parts
    if (names_of(rest) if rest else ()) != rewrite.beside:
        return parts
    return parts.with_query("&".join(rest) if rest else None)


def drop_on_page(parts: Parts, rewrite: Rewrite) -> Parts:
    """Remove a parameter, if the path and the other fields of the query are those in ``new``."""
    if not parts.query or rewrite.old not in parts.query:
        return parts
    path, _, others = rewrite.new.partition("?")
    if parts.path != path:
        return parts
    fields = query.fields(parts.query)
    rest = [field for field in fields if query.name(field) != rewrite.old]
    if len(rest) == len(fields) or "&".join(rest) != others:
        return parts
    return parts.with_query(others or None)


def drop_parameter_anywhere(parts: Parts, rewrite: Rewrite) -> Parts:
    """Remove a parameter, whatever the other parameters are."""
    if not parts.query or _is_odd_subdomain(parts, rewrite):
        return parts
    fields, old = query.fields(parts.query), rewrite.old
    if rewrite.new == "any-case":
        rest = [field for field in fields if query.name(field).lower() != old]
    else:
        rest = [field for field in fields if field.partition("=")[0] != old]
    if len(rest) == len(fields):
        return parts
    return parts.with_query("&".join(rest) if rest else None)


def keep_parameters(parts: Parts, rewrite: Rewrite) -> Parts:
    """Remove all parameters but those in ``beside``, if each of these is there, with a value."""
    if parts.query is None or _is_odd_subdomain(parts, rewrite):
        return parts
    fields = query.fields(parts.query)
    kept = [field for field in fields if query.name(field) in rewrite.beside]
    if len(kept) == len(fields) or names_of(kept) != rewrite.beside:
        return parts
    if any(not field.partition("=")[2] for field in kept):
        return parts
    return parts.with_query("&".join(kept) if kept else None)


def _is_odd_subdomain(parts: Parts, rewrite: Rewrite) -> bool:
    """Return True for a host such as ``a_b.example.com`` below the host of a rule.

    In shared lists of rules, subdomains are only the names that RFC 1123 allows.
    """
    return rewrite.subdomains and not _PLAIN_HOST.fullmatch(parts.host or "")


def names_of(fields: list[str]) -> tuple[str, ...]:
    """Return the distinct names of form fields, sorted."""
    return tuple(sorted({query.name(field) for field in fields}))


def separate_by_ampersands(parts: Parts, _rewrite: Rewrite) -> Parts:
    """Replace the ``;`` between all fields of a form with ``&``."""
    if not parts.query:
        return parts
    joined = query.with_ampersands(parts.query)
    return parts if joined == parts.query else parts.with_query(joined)


def sort_parameters(parts: Parts, _rewrite: Rewrite) -> Parts:
    """Sort the fields of a form by name; fields with the same name keep their order."""
    return practice.sort_query(parts)

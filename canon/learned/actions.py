"""What each family of learned rules does to a URL that a rewrite covers.

All functions are total. They return the same object if they change nothing.
"""

import re

from canonry.canon.learned.rewrite import Rewrite
from canonry.canon.rules import practice
from canonry.canon.syntax import query
from canonry.canon.syntax.parts import Parts

_FILE = re.compile(r"[^/]+\.[^/.]+")


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
    return parts._replace(path=rewrite.new + parts.path[len(rewrite.old) :])


def drop_index_file(parts: Parts, rewrite: Rewrite) -> Parts:
    """Remove the name of a directory's default document, if the URL has no query."""
    directory, slash, name = parts.path.rpartition("/")
    if name != rewrite.old or parts.query is not None:
        return parts
    return parts._replace(path=directory + slash)


def lower_path(parts: Parts, _rewrite: Rewrite) -> Parts:
    """Convert a path to lower case, except for the digits of percent-escapes."""
    path = practice.lower_letters(Parts(None, None, None, None, parts.path, None, None)).path
    return parts if path == parts.path else parts._replace(path=path)


def drop_path_parameter(parts: Parts, rewrite: Rewrite) -> Parts:
    """Remove a parameter from the segments of a path (RFC 3986 section 3.3)."""
    if ";" not in parts.path or rewrite.old not in parts.path:
        return parts
    segments = (_without(segment, rewrite.old) for segment in parts.path.split("/"))
    path = "/".join(segments)
    return parts if path == parts.path else parts._replace(path=path)


def _without(segment: str, name: str) -> str:
    """Remove a parameter from a segment, unless a dot segment would be left: that is a step."""
    first, *given = segment.split(";")
    shorter = ";".join([first, *(one for one in given if query.name(one) != name)])
    return segment if shorter.lower().replace("%2e", ".") in {".", ".."} else shorter


def set_final_slash(parts: Parts, rewrite: Rewrite) -> Parts:
    """Add or remove the slash at the end of a path that is not the root."""
    path = parts.path
    bare = path.removesuffix("/")
    if not bare or bare.endswith("/"):
        return parts
    is_file = _FILE.fullmatch(bare.rpartition("/")[2]) is not None
    wanted = bare + "/" if rewrite.new == "slash" else bare
    if is_file is not (rewrite.new == "file") or wanted == path:
        return parts
    return parts._replace(path=wanted)


def drop_parameter(parts: Parts, rewrite: Rewrite) -> Parts:
    """Remove a parameter, if the names of all others are those in ``beside``."""
    if not parts.query or rewrite.old not in parts.query:
        return parts
    fields = query.fields(parts.query)
    rest = [field for field in fields if query.name(field) != rewrite.old]
    if len(rest) == len(fields) or names_of(rest) != rewrite.beside:
        return parts
    return parts._replace(query="&".join(rest) if rest else None)


def names_of(fields: list[str]) -> tuple[str, ...]:
    """Return the distinct names of form fields, sorted."""
    return tuple(sorted({query.name(field) for field in fields}))


def sort_parameters(parts: Parts, _rewrite: Rewrite) -> Parts:
    """Sort the fields of a form by name; fields with the same name keep their order."""
    return practice.sort_query(parts)

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

# Words beside an id. One word, as in ``/article/7/comments``, is a page of its own on most sites.
_WORDS = r"(?=[^/]*[^/0-9_\-])[^/_\-]+[_\-][^/]+"
# Each is one part of a path: the words, and what is put there.
SLUGS = {
    "id/slug": (re.compile(rf"(?<=/)([0-9]+)/{_WORDS}(/?)\Z"), r"\1\2"),
    "slug/id": (re.compile(rf"(?<=/){_WORDS}/([0-9]+/?)\Z"), r"-/\1"),  # or more words would follow
    "id-slug": (re.compile(rf"(?<=/)([0-9]+)-{_WORDS}(/?)\Z"), r"\1\2"),
    "slug-id": (re.compile(rf"(?<=/){_WORDS}-([0-9]+(?:\.[a-z]+)?/?)\Z"), r"\1"),
}


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


def drop_slug(parts: Parts, rewrite: Rewrite) -> Parts:
    """Remove the words beside the id at the end of a path."""
    words, left = SLUGS[rewrite.old]
    path = words.sub(left, parts.path)
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


def separate_by_ampersands(parts: Parts, _rewrite: Rewrite) -> Parts:
    """Replace the ``;`` between all fields of a form with ``&``."""
    if not parts.query:
        return parts
    joined = query.with_ampersands(parts.query)
    return parts if joined == parts.query else parts.with_query(joined)


def sort_parameters(parts: Parts, _rewrite: Rewrite) -> Parts:
    """Sort the fields of a form by name; fields with the same name keep their order."""
    return practice.sort_query(parts)

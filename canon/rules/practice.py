"""Rules beyond the RFC: what crawlers treat as equal in practice. Heuristics, each with a risk."""

import re
from collections.abc import Callable

from canonry.canon.rules.rule import Parameters
from canonry.canon.syntax import query
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.schemes import WEB

# Session identifiers are long and consist of letters and digits. Shorter values, and words, may
# select content and stay.
_SESSION_VALUE = re.compile(r"(?=[^&]*[0-9])[0-9A-Za-z]{16,128}")
_SESSION_SEGMENT = re.compile(
    r"(?<=[^/.]);jsessionid=(?=[^/;]*[0-9])[0-9A-Z]{16,128}"
    r"(?:[.!][0-9A-Z_\-]{1,64}){0,4}(?=[/;]|\Z)",  # the server node, as in "...A1.node2"
    re.IGNORECASE,
)
# "://" inside a path belongs to another URL, as in the paths of archives and proxies.
_SLASHES = re.compile(r"(?<!:)//+")
WWW = r"www[0-9]*\."
# Not "www3288.com" or "www.com": what remains has to contain a dot. Nor "www.www2.com": what
# remains must not begin with such a label again.
_WWW = re.compile(rf"{WWW}((?!{WWW})[^.]+\..+)\Z")
_LETTERS = re.compile(r"%[0-9A-F]{2}|[A-Z]+")


def drop_fragment(parts: Parts) -> Parts:
    """Remove the fragment: it is never sent (RFC 3986 section 3.5)."""
    return parts if parts.fragment is None else parts._replace(fragment=None)


def drop_plain_fragment(parts: Parts) -> Parts:
    """Remove the fragment unless it begins with ``!``: some applications name pages with it."""
    if parts.fragment is None or parts.fragment.startswith("!"):
        return parts
    return parts._replace(fragment=None)


def drop_empty_query(parts: Parts) -> Parts:
    """Remove a question mark that no query follows."""
    return parts._replace(query=None) if parts.query == "" and parts.scheme in WEB else parts


def without_tracking(lists: Parameters) -> Callable[[str], str | None]:
    """Return a function that removes tracking parameters from a query that is not empty.

    The function returns the same object if there are none, and None if no field is left.
    """

    def is_kept(field: str) -> bool:
        name = field.partition("=")[0].lower()
        return name not in lists.tracking and not name.startswith(lists.tracking_prefixes)

    return lambda text: _kept(text, is_kept)


def _kept(text: str, is_kept: Callable[[str], bool]) -> str | None:
    """Return a query with some of its fields; None if that is none."""
    given = query.fields(text)
    kept = list(filter(is_kept, given))
    if len(kept) == len(given):
        return text
    return "&".join(kept) if kept else None


def drop_tracking(lists: Parameters) -> Callable[[Parts], Parts]:
    """Return the step that removes the parameters that say where a visitor came from."""
    without = without_tracking(lists)

    def apply(parts: Parts) -> Parts:
        if not parts.query or parts.scheme not in WEB:
            return parts
        text = without(parts.query)
        return parts if text is parts.query else parts._replace(query=text)

    return apply


def drop_session(lists: Parameters) -> Callable[[Parts], Parts]:
    """Return the step that removes session identifiers: a listed name *and* a matching value.

    ``;jsessionid=`` in a path needs no list (Jakarta Servlet 6.0, section 7.1.3).
    """

    def is_kept(field: str) -> bool:
        name, _, value = field.partition("=")
        return name.lower() not in lists.session or _SESSION_VALUE.fullmatch(value) is None

    def apply(parts: Parts) -> Parts:
        path = parts.path
        if parts.scheme not in WEB:
            return parts
        if ";" in path:
            path = _SESSION_SEGMENT.sub("", path)
        if path != parts.path:
            parts = parts._replace(path=path)
        text = parts.query and _kept(parts.query, is_kept)
        return parts if text is parts.query else parts._replace(query=text)

    return apply


def sort_query(parts: Parts) -> Parts:
    """Sort the fields of a form by name. Equal names keep their order, which may have a meaning."""
    if not parts.query or "&" not in parts.query or parts.scheme not in WEB:
        return parts
    if not query.is_form(parts.query):
        return parts
    given = query.fields(parts.query)
    ordered = sorted(given, key=query.name)
    return parts if ordered == given else parts._replace(query="&".join(ordered))


def fold_slashes(parts: Parts) -> Parts:
    """Replace repeated slashes in a path by one, except after a colon."""
    if "//" not in parts.path or parts.scheme not in WEB:
        return parts
    path = _SLASHES.sub("/", parts.path)
    return parts if path == parts.path else parts._replace(path=path)


def drop_index_file(lists: Parameters) -> Callable[[Parts], Parts]:
    """Return the step that removes the name of a directory's default document.

    A URL with a query keeps it: the query may be meant for the document only.
    """

    def apply(parts: Parts) -> Parts:
        if parts.query is not None or parts.scheme not in WEB:
            return parts
        directory, slash, name = parts.path.rpartition("/")
        return parts._replace(path=directory + slash) if name in lists.index_files else parts

    return apply


def drop_userinfo(parts: Parts) -> Parts:
    """Remove user name and password."""
    if parts.userinfo is None or parts.scheme == "file":  # there is no login for local files
        return parts
    return parts._replace(userinfo=None)


def fold_scheme(parts: Parts) -> Parts:
    """Replace https by http, unless the URL has a port."""
    if parts.scheme != "https" or parts.port is not None:
        return parts
    return parts._replace(scheme="http")


def drop_host_dot(parts: Parts) -> Parts:
    """Remove the trailing dot of a fully qualified domain name."""
    host = parts.host
    if not host or not host.endswith(".") or host.endswith("..") or host == ".":
        return parts
    if parts.scheme == "file":  # its hosts are not DNS names
        return parts
    return parts._replace(host=host[:-1])


def drop_www(parts: Parts) -> Parts:
    """Remove a first label such as ``www`` or ``www2``, if a domain remains."""
    found = _WWW.match(parts.host or "")
    return parts if found is None else parts._replace(host=found[1])


def lower_letters(parts: Parts) -> Parts:
    """Convert path and query to lower case, except for the digits of escapes."""
    path = _LETTERS.sub(_lowered, parts.path)
    query_text = parts.query and _LETTERS.sub(_lowered, parts.query)
    if (path, query_text) == (parts.path, parts.query):
        return parts
    return parts._replace(path=path, query=query_text)


def _lowered(match: re.Match[str]) -> str:
    """Return letters in lower case, and escapes unchanged."""
    return match[0] if match[0].startswith("%") else match[0].lower()


def drop_trailing_slash(parts: Parts) -> Parts:
    """Remove the trailing slash of a path, unless it is the root."""
    path = parts.path
    if not path.endswith("/") or not path.strip("/") or parts.scheme not in WEB:
        return parts
    return parts._replace(path=path.rstrip("/"))

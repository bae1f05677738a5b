"""Rules of web archives' indexes, only for look-ups: they may decode data into delimiters."""

import re
from urllib.parse import unquote_to_bytes

from canonry.canon.references.rfc3986 import remove_dot_segments
from canonry.canon.syntax import query
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.patterns import compile_pattern
from canonry.canon.syntax.percent import PATH, QUERY
from canonry.canon.syntax.schemes import WEB

_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_SLASHES = re.compile("//+")
# Session identifiers, as in the indexes: a name, also at the end of a longer one, and a value,
# mostly of an exact length. The separator after it is removed, too. The digits of an escape, as in
# "%CFID=1", are no letters of a name.
_SESSION_FIELD = compile_pattern(
    r"(?<!%)(?<!%[0-9a-f])(?:(?:jsessionid|phpsessid|sid)=[0-9a-z]{32}|aspsessionid[a-z]{8}=[a-z]{24}"
    r"|cfid=(?:(?!cfid=)[^&])++&cftoken=[^&]++)(?:&|\Z)",
    re.IGNORECASE,
)
_SESSION_SEGMENT = compile_pattern(
    r"/\((?:(?:[a-z]\([0-9a-z]{24}\))++|[0-9a-z]{24})\)(?=/.)", re.IGNORECASE
)


def _decoded(text: str) -> bytes:
    """Decode all escapes, also those that decoding produces, until none is left."""
    data = text.encode()
    once = unquote_to_bytes(data)
    if _ESCAPE.search(once) is None:
        return once
    left = bytearray()  # "%2525…41": in one pass, so that the time stays linear
    for byte in data:
        left.append(byte)
        while _ESCAPE.match(left, len(left) - 3):
            left[-3:] = unquote_to_bytes(bytes(left[-3:]))
    return bytes(left)


def _writer(allowed: str, escape: str) -> tuple[str, ...]:
    """Return how each of the 256 bytes is written: bare, or as an escape."""
    bare = allowed.encode()
    return tuple(chr(byte) if byte in bare else escape.format(byte) for byte in range(256))


_IN_PATH = _writer(PATH, "%{:02X}")
_IN_QUERY = _writer(QUERY, "%{:02X}")
_IN_INDEX = _writer("".join(chr(c) for c in range(0x21, 0x7F) if chr(c) not in "#%"), "%{:02x}")


def in_index(text: str) -> str:
    """Write text as indexes do: escape only controls, space, ``#``, ``%``, and bytes above 7E.

    Escapes have lower-case digits. A decoded ``?`` in a path looks like the start of a query.
    """
    return "".join([_IN_INDEX[byte] for byte in _decoded(text)]) if "%" in text else text


def decode_escapes(parts: Parts) -> Parts:
    """Decode all escapes in path and query, also nested ones, but those that they need."""
    path, query_text = parts.path, parts.query
    if parts.scheme not in WEB:
        return parts
    if "%" in path:
        path = "".join([_IN_PATH[byte] for byte in _decoded(path)])
        path = remove_dot_segments(path) if "/." in path else path
    if query_text and "%" in query_text:
        query_text = "".join([_IN_QUERY[byte] for byte in _decoded(query_text)])
    if (path, query_text) == (parts.path, parts.query):
        return parts
    return parts._replace(path=path, query=query_text)


def fold_all_slashes(parts: Parts) -> Parts:
    """Replace repeated slashes in a path by one, also those of a URL inside it."""
    if "//" not in parts.path or parts.scheme not in WEB:
        return parts
    return parts._replace(path=_SLASHES.sub("/", parts.path))


def drop_sessions(parts: Parts) -> Parts:
    """Remove session identifiers, but not from a query if what remains would hold one again."""
    if parts.scheme not in WEB:
        return parts
    path, query_text = _without_segment(parts.path), parts.query
    if query_text and "=" in query_text:
        kept = _SESSION_FIELD.sub("", query_text)
        if kept != query_text and _SESSION_FIELD.search(kept) is None:
            query_text = kept or None
    if (path, query_text) == (parts.path, parts.query):
        return parts
    return parts._replace(path=path, query=query_text)


def _without_segment(path: str) -> str:
    """Remove the session segments before a file of ASP.NET (``/(S(…))/a.aspx``)."""
    end = path.lower().rfind(".aspx") if "/(" in path else -1
    if end < 0:
        return path
    return _SESSION_SEGMENT.sub("", path[:end]) + path[end:]


def sorted_fields(text: str) -> str:
    """Sort fields by name, then by value; a name without a value comes before one with."""
    return "&".join(sorted(query.fields(text), key=_name_and_value)) if "&" in text else text


def _name_and_value(field: str) -> list[str]:
    """Split a field at its first equals sign."""
    return field.split("=", 1)


def sort_fields(parts: Parts) -> Parts:
    """Sort the fields of any query, form or not, unless that would make a session identifier."""
    if not parts.query or "&" not in parts.query or parts.scheme not in WEB:
        return parts
    ordered = sorted_fields(parts.query)
    if ordered == parts.query or _SESSION_FIELD.search(ordered):
        return parts
    return parts._replace(query=ordered)

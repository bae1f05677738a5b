"""The dialect of RFC 3986: absolute URIs, and resolution by section 5.2."""

import re

from canonry.canon.errors import InvalidURL, Reason
from canonry.canon.syntax import grammar
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.schemes import NEEDS_HOST
from canonry.canon.syntax.uri import MAX_PORT, URI, split

_AUTHORITY_END = re.compile(r"[/?#]")


def check_absolute(text: str) -> str:
    """Return the text unchanged if it is an absolute URI.

    Characters that the grammar does not allow are accepted: a step of the pipeline encodes them.

    Raises:
        InvalidURL: the scheme, the host or the port is missing or invalid (sections 3.1, 3.2.2
            and 3.2.3); only some schemes need a host (RFC 9110 section 4.2.1).
    """
    parts = Parts.of(text)
    if parts.scheme is None:
        colon = _AUTHORITY_END.split(text, maxsplit=1)[0].find(":")
        reason = Reason.SCHEME if colon >= 0 else Reason.RELATIVE if text else Reason.EMPTY
        raise InvalidURL(reason, text, max(colon, 0))
    start = len(parts.scheme) + 3 + (0 if parts.userinfo is None else len(parts.userinfo) + 1)
    if not parts.host:
        if parts.scheme.lower() in NEEDS_HOST:
            raise InvalidURL(Reason.NO_HOST, text, start)
        return text
    name = parts.host
    if "[" in name or "]" in name:
        if not grammar.matches("IP-literal", name):
            raise InvalidURL(Reason.HOST, text, start)
    elif ":" in name:
        raise InvalidURL(Reason.PORT, text, start + name.index(":") + 1)
    if parts.port and int(parts.port.lstrip("0")[:6] or "0") > MAX_PORT:
        raise InvalidURL(Reason.PORT, text, start + len(name) + 1)
    return text


def resolve_rfc3986(reference: str, base: str, strict: bool = True) -> str:  # noqa: FBT001, FBT002 - as in DIALECTS
    """Transform a reference by the algorithm of RFC 3986 section 5.2.2."""
    base_uri = split(base)
    if base_uri.scheme is None:
        raise InvalidURL(Reason.BASE, base)
    return str(transform(split(reference), base_uri, strict=strict))


def transform(ref: URI, base: URI, *, strict: bool = True) -> URI:
    """Apply "transform references" (RFC 3986 section 5.2.2) to components.

    Kept in the shape of the section's pseudocode, so that both can be read side by side.
    """
    scheme = ref.scheme
    if not strict and scheme is not None and scheme.lower() == (base.scheme or "").lower():
        scheme = None
    if scheme is not None:
        return URI(scheme, ref.authority, remove_dot_segments(ref.path), ref.query, ref.fragment)
    if ref.authority is not None:
        path = remove_dot_segments(ref.path)
        return URI(base.scheme, ref.authority, path, ref.query, ref.fragment)
    if ref.path == "":
        query = base.query if ref.query is None else ref.query
        return URI(base.scheme, base.authority, base.path, query, ref.fragment)
    path = ref.path if ref.path.startswith("/") else merge(base, ref.path)
    return URI(base.scheme, base.authority, remove_dot_segments(path), ref.query, ref.fragment)


def merge(base: URI, path: str) -> str:
    """Replace the last segment of the base's path with a relative path (RFC 3986 section 5.2.3)."""
    if base.authority is not None and base.path == "":
        return f"/{path}"
    return f"{base.path[: base.path.rfind('/') + 1]}{path}"


def remove_dot_segments(path: str) -> str:
    """Remove ``.`` and ``..`` from a path (RFC 3986 section 5.2.4), in time linear in its length.

    The section has five cases over a buffer of text; here they are a loop over segments. Each
    segment is kept together with the slash before it, so that both are removed together.
    """
    if not path.startswith(".") and "/." not in path:
        return path
    start = 0
    while path.startswith(("./", "../"), start):  # case A
        start = path.index("/", start) + 1
    if path[start:] in {".", ".."}:  # case D
        return ""
    first, *rest = path[start:].split("/")
    kept = [first] if first else []
    for segment in rest:
        if segment == "..":  # case C
            del kept[-1:]
        elif segment != ".":  # case E; case B keeps nothing
            kept.append(f"/{segment}")
    if rest and rest[-1] in {".", ".."}:
        kept.append("/")
    return "".join(kept)

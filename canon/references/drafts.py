"""Reference resolution by the ancestors of RFC 3986, each true to its own examples.

None of them is right for today's web: they resolve references as documents of their time did.
"""

import re

from canonry.canon.errors import InvalidURL, Reason
from canonry.canon.syntax.uri import URI, split

_SLASHES = re.compile(r"/+")


def resolve_rfc2396bis(reference: str, base: str, strict: bool = True) -> str:  # noqa: FBT001, FBT002 - as in DIALECTS
    """Resolve by draft-fielding-uri-rfc2396bis-01 (2003), section 5.2.

    A reference that is only a query keeps the base's path, as in RFC 3986. Dot segments are removed
    only when a relative path is merged, and excess ``..`` segments stay.
    """
    ref, known = _read(reference, base, strict=strict)
    if ref.scheme is not None:
        return str(ref)
    if ref.authority is not None:
        return str(ref._replace(scheme=known.scheme))
    if ref.path == "":
        query = known.query if ref.query is None else ref.query
        return str(known._replace(query=query, fragment=ref.fragment))
    path = ref.path if ref.path.startswith("/") else collapse(_directory(known) + ref.path)
    return str(URI(known.scheme, known.authority, path, ref.query, ref.fragment))


def resolve_url_syntax(reference: str, base: str, strict: bool = True) -> str:  # noqa: FBT001, FBT002 - as in DIALECTS
    """Resolve by draft-fielding-url-syntax-05 (1997), section 4.

    Here the query is part of the path: a reference that is only a query replaces the last segment,
    and dot segments are removed from the query, too.
    """
    ref, known = _read(reference, base, strict=strict)
    if ref.scheme is not None:
        return str(ref)
    if ref.authority is not None:
        return str(ref._replace(scheme=known.scheme))
    if ref.path == "" and ref.query is None:
        return str(known._replace(fragment=ref.fragment))
    path = ref.path if ref.query is None else f"{ref.path}?{ref.query}"
    if not path.startswith("/"):
        path = collapse(_directory(known) + path)
    return str(
        split(f"{URI(known.scheme, known.authority, '', None, None)}{path}")._replace(
            fragment=ref.fragment
        )
    )


def resolve_partial_form(reference: str, base: str, _strict: bool = True) -> str:  # noqa: FBT001, FBT002 - as in DIALECTS
    """Resolve the partial form of the URL draft of 1993; RFC 1630 has it, too.

    The number of leading slashes decides: two lead to another host, one to the root. A longer run
    replaces the base from its first run of the same length that no longer run follows. An empty
    fragment counts as absent.
    """
    ref, known = _read(reference, base, strict=True)
    ref = ref._replace(fragment=ref.fragment or None)
    if ref.scheme is not None:
        return str(ref)
    if ref.authority is not None and not reference.startswith("///"):
        return str(ref._replace(scheme=known.scheme))
    if ref.path == "" and ref.query is None and ref.authority is None:
        return str(known._replace(fragment=ref.fragment))
    run = _SLASHES.match(reference)
    given, _, fragment = reference.partition("#")
    context = str(known._replace(query=None, fragment=None))
    if run is None:
        start = len(context) - len(known.path)
        path = _drop_steps(_directory(known) + given)
        target = f"{context[:start]}{path}"
    elif len(run[0]) == 1:
        target = f"{context[: len(context) - len(known.path)]}{given}"
    else:
        target = f"{context[: _same_run(context, len(run[0]))]}{given}"
    return f"{target}#{fragment}" if fragment else target


def _read(reference: str, base: str, *, strict: bool) -> tuple[URI, URI]:
    """Split a reference and its base; without ``strict``, ignore a scheme equal to the base's."""
    known = split(base)
    if known.scheme is None:
        raise InvalidURL(Reason.BASE, base)
    ref = split(reference)
    if not strict and ref.scheme is not None and ref.scheme.lower() == known.scheme.lower():
        ref = ref._replace(scheme=None)
    return ref, known


def _directory(base: URI) -> str:
    """Return the base's path up to its last slash."""
    if base.authority is not None and base.path == "":
        return "/"
    return base.path[: base.path.rfind("/") + 1]


def collapse(path: str) -> str:
    """Remove ``.`` and ``segment/..`` from a merged path (RFC 2396 section 5.2, steps 6c to 6g).

    A ``..`` with no segment before it is an error in the reference; it stays.
    """
    root = "/" if path.startswith("/") else ""
    *inner, last = path[len(root) :].split("/")
    kept: list[str] = []
    for segment in inner:
        _step(kept, segment)
    if last == ".":
        last = ""
    elif last == ".." and kept and kept[-1] != "..":
        kept.pop()
        last = ""
    return root + "".join(f"{segment}/" for segment in kept) + last


def _step(kept: list[str], segment: str) -> None:
    """Apply one complete segment to those kept so far."""
    if segment == ".." and kept and kept[-1] != "..":
        kept.pop()
    elif segment != ".":
        kept.append(segment)


def _drop_steps(path: str) -> str:
    """Remove ``xxx/../`` and ``/.``, where they are whole elements, exactly as the draft says.

    So a final ``/.`` goes together with its slash, and a final ``/..`` stays.
    """
    *inner, last = path.split("/")
    kept = inner[:1]
    for segment in inner[1:]:
        if segment == ".." and len(kept) > 1 and kept[-1] != "..":
            kept.pop()
        elif segment != ".":
            kept.append(segment)
    if last != ".":
        kept.append(last)
    return "/".join(kept)


def _same_run(context: str, length: int) -> int:
    """Return the position of the first run of ``length`` slashes that no longer run follows.

    If there is none, return the end of the context.
    """
    place = len(context)
    for run in reversed(list(_SLASHES.finditer(context))):
        if len(run[0]) > length:
            break
        if len(run[0]) == length:
            place = run.start()
    return place

"""Reference resolution by the ancestors of RFC 3986, each true to its own examples.

None of them is right for today's web: they resolve references as documents of their time did.
"""

import re

from canonry.canon.errors import InvalidURL, Reason
from canonry.canon.syntax.patterns import compile_pattern
from canonry.canon.syntax.uri import URI, split

_SLASHES = re.compile(r"/+")
# Schemes. 1997 (appendix A): letters, digits, "+", "-" and ".", in any order. 1993 ("Partial
# form"): whatever stands before a colon that precedes every slash. 2003: as in RFC 3986.
_SCHEME_1997 = re.compile(r"([A-Za-z0-9+.\-]+):")
_SCHEME_1993 = re.compile(r"([^:/?#]+):")


def resolve_rfc2396bis(
    reference: str,
    base: str,
    strict: bool = True,  # noqa: FBT001, FBT002 - as in DIALECTS
    excess: str = "keep",
) -> str:
    """Resolve by draft-fielding-uri-rfc2396bis-01 (2003), section 5.2.

    A reference that is only a query keeps the base's path, as in RFC 3986. Dot segments are removed
    only when a relative path is merged. If ``..`` segments still begin the merged path, the
    reference is in error, and step 6e leaves three choices: ``excess`` is one of `EXCESS`.
    """
    ref, base_uri = _read(split(reference), split(base), base, strict=strict)
    if ref.scheme is not None:
        return str(ref)
    if ref.authority is not None:
        return str(ref._replace(scheme=base_uri.scheme))
    if ref.path == "":
        query = base_uri.query if ref.query is None else ref.query
        return str(base_uri._replace(query=query, fragment=ref.fragment))
    path = ref.path
    if not path.startswith("/"):
        # With an empty base path the buffer is "/", whatever the authority is (step 6a).
        path = collapse((_directory(base_uri.path) if base_uri.path else "/") + path)
        path = _without_excess(path, reference, excess)
    return str(URI(base_uri.scheme, base_uri.authority, path, ref.query, ref.fragment))


def resolve_url_syntax(reference: str, base: str, strict: bool = True) -> str:  # noqa: FBT001, FBT002 - as in DIALECTS
    """Resolve by draft-fielding-url-syntax-05 (1997), section 5.2.

    Here the query is part of the path: a reference that is only a query replaces the last segment,
    and dot segments are removed from the query, too. A scheme may begin with a digit or with
    ``+ - .``. Without a base (an empty text, section 5.1.4), only absolute references resolve.

    Step 6a has no rule for a base without a path: by the letter, ``g`` against ``http://a`` is
    ``http://ag``, another host. Here it is ``http://a/g``, as in all later documents.
    """
    ref = split_1997(reference)
    if not base:
        if ref.scheme is None:
            raise InvalidURL(Reason.RELATIVE if reference else Reason.EMPTY, reference)
        return str(ref)
    ref, base_uri = _read(ref, split_1997(base), base, strict=strict)
    if ref.scheme is not None:
        return str(ref)
    if ref.authority is not None:
        return str(ref._replace(scheme=base_uri.scheme))
    if ref.path == "" and ref.query is None:
        return str(base_uri._replace(fragment=ref.fragment))
    path = ref.path if ref.query is None else f"{ref.path}?{ref.query}"
    if not path.startswith("/"):
        path = collapse(_directory(base_uri.path, rooted=base_uri.authority is not None) + path)
    path, mark, query = path.partition("?")
    return str(
        URI(base_uri.scheme, base_uri.authority, path, query if mark else None, ref.fragment)
    )


def resolve_partial_form(reference: str, base: str, _strict: bool = True) -> str:  # noqa: FBT001, FBT002 - as in DIALECTS
    """Resolve the partial form of the URL draft of 1993; RFC 1630 has it, too.

    A reference is full if it has a colon before any slash. Otherwise its leading slashes decide:
    two lead to another host, one to the root. The draft leaves three or more open; by RFC 1630,
    they replace the base from its first run of as many slashes after which no run is longer.
    An empty fragment counts as absent.
    """
    ref, base_uri = _read(split_1993(reference), split_1993(base), base, strict=True)
    ref = ref._replace(fragment=ref.fragment or None)
    if ref.scheme is not None:
        return str(ref)
    if ref.authority is not None and not reference.startswith("///"):
        return str(ref._replace(scheme=base_uri.scheme))
    if ref.path == "" and ref.query is None and ref.authority is None:
        return str(base_uri._replace(fragment=ref.fragment))
    run = _SLASHES.match(reference)
    without_fragment, _, fragment = reference.partition("#")
    context = str(base_uri._replace(query=None, fragment=None))
    if run is None:
        whole = _directory(base_uri.path, rooted=base_uri.authority is not None) + without_fragment
        # Recomposing keeps a path that now begins with "//" from becoming an authority.
        target = str(base_uri._replace(path=_drop_steps(whole), query=None, fragment=None))
    elif len(run[0]) == 1:
        target = f"{context[: len(context) - len(base_uri.path)]}{without_fragment}"
    else:
        target = f"{context[: _same_run(context, len(run[0]))]}{without_fragment}"
    return f"{target}#{fragment}" if fragment else target


# What to do with ``..`` segments that lead above the root (2003, section 5.2 step 6e).
EXCESS = ("keep", "drop", "refuse")
_EXCESS = compile_pattern(r"(/?)((?:\.\./)*+(?:\.\.\Z)?)")


def _without_excess(path: str, reference: str, excess: str) -> str:
    """Keep, drop or refuse the leading ``..`` segments of a merged path, as ``excess`` says."""
    found = _EXCESS.match(path)
    if excess == "keep" or not found or not found[2]:
        return path
    if excess == "refuse":
        raise InvalidURL(Reason.EXCESS, reference)
    return found[1] + path[found.end() :]


def split_1997(text: str) -> URI:
    """Split a reference by the draft of 1997."""
    return _split_with(_SCHEME_1997, text)


def split_1993(text: str) -> URI:
    """Split a reference by the draft of 1993."""
    return _split_with(_SCHEME_1993, text)


def _split_with(scheme: re.Pattern[str], text: str) -> URI:
    """Split a reference whose scheme matches a pattern."""
    found = scheme.match(text)
    if found is None:
        return split(text)
    # The pattern allows all that RFC 3986 allows, so the rest is split as if it had that scheme.
    return split(f"x:{text[found.end() :]}")._replace(scheme=found[1])


def _read(ref: URI, known: URI, base: str, *, strict: bool) -> tuple[URI, URI]:
    """Refuse a relative base; unless ``strict``, remove the base's scheme from the reference."""
    if known.scheme is None:
        raise InvalidURL(Reason.BASE, base)
    return (ref if strict else without_scheme_of(ref, known)), known


def without_scheme_of(ref: URI, base: URI) -> URI:
    """Return a reference without a scheme that equals the base's."""
    if ref.scheme is not None and ref.scheme.lower() == (base.scheme or "").lower():
        return ref._replace(scheme=None)
    return ref


def _directory(path: str, *, rooted: bool = False) -> str:
    """Return a path up to its last slash; if ``rooted``, return ``/`` for an empty path."""
    if rooted and path == "":
        return "/"
    return path[: path.rfind("/") + 1]


def collapse(path: str) -> str:
    """Remove ``.`` and ``segment/..`` from a merged path (1997: section 5.2, steps 6d to 6g).

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
    """Append a segment; ``.`` adds nothing, and ``..`` removes the last segment if it can."""
    if segment == ".." and kept and kept[-1] != "..":
        kept.pop()
    elif segment != ".":
        kept.append(segment)


def _drop_steps(path: str) -> str:
    """Remove each ``/xxx/..`` and ``/.`` of whole segments, exactly as the draft of 1993 says.

    The slash in front is removed as well, so that no final slash is left. A first segment without
    a slash stays.
    """
    first, *rest = path.split("/")
    kept = [first]
    for segment in rest:
        if segment == ".." and len(kept) > 1 and kept[-1] != "..":
            kept.pop()
        elif segment != ".":
            kept.append(segment)
    return "/".join(kept)


def _same_run(context: str, length: int) -> int:
    """Return the position of the first run of ``length`` slashes after which none is longer.

    If there is none, return the end of the context.
    """
    place = len(context)
    for run in reversed(list(_SLASHES.finditer(context))):
        if len(run[0]) > length:
            break
        if len(run[0]) == length:
            place = run.start()
    return place

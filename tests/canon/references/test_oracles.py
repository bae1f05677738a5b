"""The ancestors' resolvers against their steps, done one after the other on text, as written."""

import re

from hypothesis import assume, given
from hypothesis import strategies as st

import canonry

_TOKENS = [
    *"/:?#g;",
    ".",
    ".",
    "..",
    "..",
    "./",
    "../",
    "/.",
    "/..",
    "//",
    "b",
    "%2E",
    "g:",
    "?y",
    "#s",
]
references = st.lists(st.sampled_from(_TOKENS), max_size=9).map("".join)
bases = st.builds(
    "{}{}{}".format,
    st.sampled_from(["http://a", "http://u@a:8"]),
    st.just("")
    | st.lists(st.sampled_from(["/", "/b", "/..", "/.", "/c;d"]), max_size=5).map("".join),
    st.sampled_from(["", "?q", "?q/../r", "#f", "?#"]),
)
# draft-fielding-uri-rfc2396bis-01, appendix B; its scheme as in section 3.1
_2003 = r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?"
_1997 = _2003.replace("[A-Za-z][A-Za-z0-9+.-]*", "[A-Za-z0-9+.-]+")
_1993 = _2003.replace("[A-Za-z][A-Za-z0-9+.-]*", "[^:/?#]+")
_START = r"(?:\A|(?<=/))"  # of a segment


def parsed(pattern: str, text: str) -> tuple[str | None, ...]:
    """Return scheme, authority, path, query and fragment."""
    found = re.fullmatch(pattern, text)
    assert found is not None
    return found.groups()


def joined(
    scheme: str | None, site: str | None, path: str | None, query: str | None, fragment: str | None
) -> str:
    """Recombine the components."""
    text = f"{scheme}:" if scheme is not None else ""
    text += f"//{site}" if site is not None else ""
    text += path or ""
    text += f"?{query}" if query is not None else ""
    return text + (f"#{fragment}" if fragment is not None else "")


def without(pattern: str, text: str) -> str:
    """Remove what matches, leftmost first, until nothing does."""
    while (shorter := re.sub(pattern, "", text, count=1)) != text:
        text = shorter
    return text


def merged(buffer: str) -> str:
    """Do the steps of 1997 (6d to 6g) and 2003 on a buffer whose first slash is the root."""
    root, rest = ("/", buffer[1:]) if buffer.startswith("/") else ("", buffer)
    rest = without(rf"{_START}\./", rest)
    rest = re.sub(rf"{_START}\.\Z", "", rest)
    rest = without(rf"{_START}(?!\.\./)[^/]*/\.\./", rest)
    return root + re.sub(rf"{_START}(?!\.\./)[^/]*/\.\.\Z", "", rest)


def by_2003(reference: str, base: str, *, strict: bool) -> str:
    """Resolve by section 5.2; without a document, the base stands for it."""
    scheme, site, path, query, fragment = parsed(_2003, reference)
    base_scheme, base_site, base_path, base_query, _ = parsed(_2003, base)
    if not strict and scheme == base_scheme:
        scheme = None
    if scheme is not None:
        return joined(scheme, site, path, query, fragment)
    if site is not None:
        return joined(base_scheme, site, path, query, fragment)
    assert path is not None
    assert base_path is not None
    if path == "":
        query = base_query if query is None else query
        return joined(base_scheme, base_site, base_path, query, fragment)
    if not path.startswith("/"):
        path = merged((base_path[: base_path.rfind("/") + 1] or "/") + path)
    return joined(base_scheme, base_site, path, query, fragment)


def by_1997(reference: str, base: str) -> str:
    """Resolve by section 5.2; a base without a path has the path "/"."""
    scheme, site, path, query, fragment = parsed(_1997, reference)
    base_scheme, base_site, base_path, base_query, _ = parsed(_1997, base)
    assert base_path is not None
    if (scheme, site, path, query) == (None, None, "", None):
        return joined(base_scheme, base_site, base_path, base_query, fragment)
    if scheme is not None:
        return joined(scheme, site, path, query, fragment)
    if site is not None:
        return joined(base_scheme, site, path, query, fragment)
    assert path is not None
    if not path.startswith("/"):
        buffer = (base_path[: base_path.rfind("/") + 1] or "/") + path
        buffer = merged(buffer if query is None else f"{buffer}?{query}")
        path, mark, rest = buffer.partition("?")
        query = rest if mark else None
    return joined(base_scheme, base_site, path, query, fragment)


def by_1993(reference: str, base: str) -> str:
    """Resolve the partial form; a search is a part of the partial URL."""
    scheme, site, path, query, fragment = parsed(_1993, reference)
    base_scheme, base_site, base_path, base_query, _ = parsed(_1993, base)
    assert base_path is not None
    fragment = fragment or None
    if scheme is not None:
        return joined(scheme, site, path, query, fragment)
    if site is not None:
        return joined(base_scheme, site, path, query, fragment)
    given_path = joined(None, None, path, query, None)
    if given_path == "":
        return joined(base_scheme, base_site, base_path, base_query, fragment)
    if not given_path.startswith("/"):
        given_path = (base_path[: base_path.rfind("/") + 1] or "/") + given_path
        given_path = without(r"/\.(?=/|\Z)", given_path)
        given_path = without(r"/(?!\.\./)[^/]*/\.\.(?=/|\Z)", given_path)
    return joined(base_scheme, base_site, given_path, None, fragment)


@given(reference=references, base=bases, strict=st.booleans())
def test_the_draft_of_2003_step_by_step(reference: str, base: str, *, strict: bool) -> None:
    assert canonry.resolve(reference, base, dialect="rfc2396bis-01", strict=strict) == by_2003(
        reference, base, strict=strict
    )


@given(reference=references, base=bases)
def test_the_draft_of_1997_step_by_step(reference: str, base: str) -> None:
    assert canonry.resolve(reference, base, dialect="url-syntax-05") == by_1997(reference, base)


@given(reference=references, base=bases)
def test_the_draft_of_1993_step_by_step(reference: str, base: str) -> None:
    assume(not reference.startswith("///"))  # the draft says nothing of these
    assert canonry.resolve(reference, base, dialect="url-1993") == by_1993(reference, base)

"""The ancestors' resolvers against their steps, done one after the other on text, as written.

Each oracle is the document's text alone: the regular expression of its appendix, and its steps in
their order, as removals from a buffer. It shares no code with the library, which works on segments.
Each resolver is tried on 60,000 references (``pytest --hypothesis-profile=hard``: three million).

In two places the library departs from the letter (docs/reference/disagreements.md), and so do the
oracles: a merged path that begins with two slashes is no authority, and a base of 1997 or 1993 that
is nothing but a site has the root as its path.
"""

import random
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import tries
from support.vectorfiles import cases

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
    "http:",
    "1a:",
    "a_b:",
]
_AUTHORITIES = ["http://a", "http://u@a:8", "HTTP://a", "foo:", "foo://"]
_SEGMENTS = ["/", "/b", "/..", "/.", "/c;d"]
_QUERIES = ["", "?q", "?q/../r", "#f", "?#"]
_ROOTLESS = ["foo:b", "foo:b/c", "foo:b/../c", "news:x", "foo:?q/r"]
references = st.lists(st.sampled_from(_TOKENS), max_size=9).map("".join)
bases = st.sampled_from(_ROOTLESS) | st.builds(
    "{}{}{}".format,
    st.sampled_from(_AUTHORITIES),
    st.just("") | st.lists(st.sampled_from(_SEGMENTS), max_size=5).map("".join),
    st.sampled_from(_QUERIES),
)
Outcome = str | canonry.Reason

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
    """Recombine the components; ``/.`` goes before a path that would be read as an authority."""
    text = f"{scheme}:" if scheme is not None else ""
    text += f"//{site}" if site is not None else "/." if (path or "").startswith("//") else ""
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


def same_scheme(scheme: str | None, other: str | None) -> bool:
    """Compare two schemes; letter case does not count."""
    return scheme is not None and scheme.lower() == (other or "").lower()


def by_2003(
    reference: str, base: str, *, strict: bool = True, excess: str = "keep", document: str = ""
) -> Outcome:
    """Resolve by section 5.2; without a document, the base stands for it."""
    scheme, site, path, query, fragment = parsed(_2003, reference)
    base_scheme, base_site, base_path, _, _ = parsed(_2003, base)
    if not strict and same_scheme(scheme, base_scheme):
        scheme = None
    if scheme is not None:
        return joined(scheme, site, path, query, fragment)
    if site is not None:
        return joined(base_scheme, site, path, query, fragment)
    assert path is not None
    assert base_path is not None
    if path == "" and query is None:
        return joined(*parsed(_2003, document or base)[:4], fragment)
    if path == "":
        return joined(base_scheme, base_site, base_path, query, fragment)
    if not path.startswith("/"):
        path = merged((base_path[: base_path.rfind("/") + 1] if base_path else "/") + path)
        above = re.match(r"(/?)((?:\.\.(?:/|\Z))+)", path)
        if above and excess == "refuse":
            return canonry.Reason.EXCESS
        if above and excess == "drop":
            path = above[1] + path[above.end() :]
    return joined(base_scheme, base_site, path, query, fragment)


def by_1997(
    reference: str, base: str, *, strict: bool = True, excess: str = "keep", document: str = ""
) -> Outcome:
    """Resolve by section 5.2; a base without a path has the root behind its site."""
    del excess  # the draft has no choice
    scheme, site, path, query, fragment = parsed(_1997, reference)
    base_scheme, base_site, base_path, _, _ = parsed(_1997, base)
    if not strict and same_scheme(scheme, base_scheme):
        scheme = None
    assert base_path is not None
    if (scheme, site, path, query) == (None, None, "", None):
        return joined(*parsed(_1997, document or base)[:4], fragment)
    if scheme is not None:
        return joined(scheme, site, path, query, fragment)
    if site is not None:
        return joined(base_scheme, site, path, query, fragment)
    assert path is not None
    if not path.startswith("/"):
        root = "/" if base_site is not None and base_path == "" else ""
        buffer = base_path[: base_path.rfind("/") + 1] + root + path
        buffer = merged(buffer if query is None else f"{buffer}?{query}")
        path, mark, rest = buffer.partition("?")
        query = rest if mark else None
    return joined(base_scheme, base_site, path, query, fragment)


def by_1993(
    reference: str, base: str, *, strict: bool = True, excess: str = "keep", document: str = ""
) -> Outcome:
    """Resolve the partial form; a search is a part of the partial URL."""
    del strict, excess  # the draft has no choices
    scheme, site, path, query, fragment = parsed(_1993, reference)
    base_scheme, base_site, base_path, _, _ = parsed(_1993, base)
    assert base_path is not None
    fragment = fragment or None
    if scheme is not None:
        return joined(scheme, site, path, query, fragment)
    if site is not None:
        return joined(base_scheme, site, path, query, fragment)
    given_path = joined(None, None, path, query, None)
    if given_path == "":
        return joined(*parsed(_1993, document or base)[:4], fragment)
    if not given_path.startswith("/"):
        root = "/" if base_site is not None and base_path == "" else ""
        given_path = base_path[: base_path.rfind("/") + 1] + root + given_path
        given_path = without(r"/\.(?=/|\Z)", given_path)
        given_path = without(r"/(?!\.\./)[^/]*/\.\.(?=/|\Z)", given_path)
    return joined(base_scheme, base_site, given_path, None, fragment)


ORACLES: dict[str, Callable[..., Outcome]] = {
    "rfc2396bis-01": by_2003,
    "url-syntax-05": by_1997,
    "url-1993": by_1993,
}
_RUN = re.compile("/{3,}")


def check(
    dialect: str, reference: str, base: str, strict: bool, excess: str, document: str
) -> None:
    """Compare the library with an oracle."""
    if dialect == "url-1993" and _RUN.match(reference):
        return  # the draft says nothing of these; the examples of RFC 1630 are vectors
    try:
        found: Outcome = canonry.resolve(
            reference,
            base,
            dialect=dialect,
            strict=strict,
            excess=excess,
            document=document or None,
        )
    except canonry.InvalidURL as error:
        found = error.reason
    expected = ORACLES[dialect](reference, base, strict=strict, excess=excess, document=document)
    assert found == expected, (dialect, reference, base, strict, excess, document)


@pytest.mark.parametrize("dialect", ORACLES)
@given(
    reference=references,
    base=bases,
    strict=st.booleans(),
    excess=st.sampled_from(["keep", "drop", "refuse"]),
    document=st.sampled_from(["", "http://d/e?f#g"]),
)
def test_the_drafts_step_by_step(
    dialect: str, reference: str, base: str, strict: bool, excess: str, document: str
) -> None:
    check(dialect, reference, base, strict, excess, document)


@pytest.mark.parametrize("dialect", ORACLES)
def test_sixty_thousand_references_of_each_draft(dialect: str) -> None:
    """As many, of the same tokens, without what Hypothesis does beside."""
    seed = random.randrange(10**9)
    chance = random.Random(seed)
    for _ in range(tries(60)):
        base = chance.choice(_ROOTLESS)
        if chance.random() < 0.9:
            path = chance.choices(_SEGMENTS, k=chance.randrange(6))
            base = "".join([chance.choice(_AUTHORITIES), *path, chance.choice(_QUERIES)])
        reference = "".join(chance.choices(_TOKENS, k=chance.randrange(10)))
        excess = chance.choice(["keep", "drop", "refuse"])
        document = chance.choice(["", "", "http://d/e?f#g"])
        check(dialect, reference, base, chance.random() < 0.5, excess, document)


def test_the_oracles_give_the_examples_of_their_documents() -> None:
    """An oracle that is wrong in the same way as the library would prove nothing."""
    rows = [
        row[1:]
        for row in cases("resolve_ancestors.txt", 4)
        if row[2] and not (row[1] == "url-1993" and _RUN.match(row[3]))
    ]
    assert len(rows) > 150
    for dialect, base, reference, target in rows:
        assert ORACLES[dialect](reference, base) == target, (dialect, base, reference)

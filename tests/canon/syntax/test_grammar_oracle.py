"""The patterns against the grammars as the documents write them, derived rule by rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.bnf import derives, grammar_of
from support.strategies import share

from canonry.canon.syntax.grammar import matches, productions_of

DOCUMENTS = ["rfc2396bis-01", "url-syntax-05", "rfc1738", "url-1993"]
GRAMMARS = {document: grammar_of(f"{document}.bnf") for document in DOCUMENTS}
_TOKENS = [
    *"a1%/?#:@;=&+-._~$, []\"'!*\x7f",
    *["a", "h", "b.c", "1.2.3.4", "256.1.1.1", ":80", "a-", "1a", "a.", ".", "//", "u@", "u:p@"],
    *["[::1]", "::", "f:", "%41", "%00", "%09", "%0", "a" * 63, "-a", ";a=b", "?q", "#f", "/1"],
    *["http://h", "ftp://", "news:", "nntp://h/a", "telnet://", "gopher://h/0", "wais://h/d"],
    *["mailto:", "file:///", "file://", "prospero://h/a", "afs://c", "x-foo:", ";type=a", "A"],
]
texts = st.lists(st.sampled_from(_TOKENS), max_size=6).map("".join)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_written_grammar_has_every_production_but_the_excluded_characters(
    document: str,
) -> None:
    missing = productions_of(document).keys() - GRAMMARS[document].keys()
    excluded = {"control", "space", "CTL", "SP", "delims", "unwise", "national", "punctuation"}
    assert missing <= excluded | {"variant"}
    assert GRAMMARS[document].keys() <= productions_of(document).keys()


@pytest.mark.parametrize("document", DOCUMENTS)
@given(text=texts, turn=st.integers(0, 99))
def test_patterns_match_what_the_rules_derive(document: str, text: str, turn: int) -> None:
    """Of each text, a few productions: all of them would take minutes."""
    for name in list(GRAMMARS[document])[turn % 20 :: 20]:
        expected = derives(GRAMMARS[document], name, text)
        assert matches(name, text, document=document) is expected, name


@pytest.mark.parametrize(
    ("document", "name"),
    [
        ("rfc2396bis-01", "URI-reference"),
        ("url-syntax-05", "URL-reference"),
        ("rfc1738", "url"),
        ("url-1993", "url"),
    ],
)
def test_enough_texts_are_urls(document: str, name: str) -> None:
    found = share(texts, lambda text: matches(name, text, document=document))
    assert found > 0.05

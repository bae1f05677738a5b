"""The ladder of RFC 3986 section 6.2, and that of 2003: what each rung adds to those below it."""

import re

import pytest
from hypothesis import given
from support.strategies import sound, tidy, urls
from support.tables import each
from support.vectorfiles import cases

import canonry
from canonry.canon.api import LADDERS
from canonry.canon.policies import from_toml

RUNGS = ["string", "syntax", "scheme", "protocol"]


@each(("why", "dialect", "one", "other", "first"), cases("ladder.txt", 4))
def test_the_ladder(why: str, dialect: str, one: str, other: str, first: str) -> None:
    found = [rung for rung in RUNGS if canonry.equivalent(one, other, rung=rung, dialect=dialect)]
    assert found == ([] if first == "none" else RUNGS[RUNGS.index(first) :]), why


@pytest.mark.parametrize("dialect", LADDERS)
@given(one=urls | sound, other=urls | sound)
def test_the_top_rung_is_the_policy(dialect: str, one: str, other: str) -> None:
    make = canonry.Canonicalizer(dialect)
    try:
        same = make.identity(one) == make.identity(other)
    except canonry.InvalidURL:
        return
    assert canonry.equivalent(one, other, dialect=dialect) is same
    assert canonry.equivalent(one, make.identity(one), dialect=dialect)


_ESCAPED_DOTS = re.compile(r"/(?=\.?%2e)(?:\.|%2e){1,2}(?=[/?#]|$)", re.IGNORECASE)


@given(one=urls | sound)
def test_the_ladder_of_2003_merges_nothing_that_rfc_3986_keeps_apart(one: str) -> None:
    """But for escaped dots: a ".." behind them removes them here, and what is before them there."""
    try:
        identity = canonry.canonicalize(one, policy="rfc2396bis-01")
    except canonry.InvalidURL:
        return
    assert canonry.equivalent(one, identity) or _ESCAPED_DOTS.search(one)


def test_a_policy_of_ones_own_may_add_heuristics_to_the_ladder_of_2003() -> None:
    text = 'name = "old"\nversion = 1\ndialect = "rfc2396bis-01"\npractice = ["fragment"]\n'
    old = from_toml(text, "old.toml")
    assert canonry.canonicalize("http://a/../%2e#b", policy=old) == "http://a/../%2E"


_COVERED = """
name = "covered"
version = 1
dialect = "rfc2396bis-01"
practice = ["tracking", "empty-query", "fragment"]
"""


@given(url=tidy | urls | sound)
def test_no_fast_path_answers_for_the_ladder_of_2003(url: str) -> None:
    """Not even with the heuristics that the fast paths know: they decode and remove too much."""
    make = canonry.Canonicalizer(from_toml(_COVERED, "covered.toml"))
    assert make.native is None
    try:
        found = make(url)
    except canonry.InvalidURL:
        return
    assert found == make.plain(url)
    assert list(make.many([url])) == [found]


def test_with_a_base_a_reference_is_resolved_by_the_policy_s_document() -> None:
    base = "http://a/b/c/d;p?q"
    found = [
        canonry.canonicalize("../../../g", base=base, policy=policy)
        for policy in ("rfc3986", "rfc2396bis-01", "web")
    ]
    assert found == ["http://a/g", "http://a/../g", "http://a/g"]


def test_unknown_rungs_and_relative_urls_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown rung 'top'; allowed: string, repair, syntax"):
        canonry.equivalent("http://a/", "http://a/", rung="top")
    with pytest.raises(ValueError, match="unknown dialect 'url-1993'; allowed: rfc3986, rfc2396"):
        canonry.equivalent("http://a/", "http://a/", dialect="url-1993")
    for rung in RUNGS:  # two equal references are one URL only under one base
        with pytest.raises(canonry.InvalidURL):
            canonry.equivalent("a", "a", rung=rung)

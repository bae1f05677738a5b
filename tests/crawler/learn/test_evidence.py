"""Evidence is counted as it changes, and a rule that has lost keeps no more of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from canonry.canon.learned import Rewrite, RuleState
from canonry.crawler.learn.decision import decide
from canonry.crawler.learn.evidence import (
    ClassTally,
    JudgedPair,
    PairTally,
    RuleEvidence,
    pair_of,
)
from canonry.crawler.learn.learned_site import LearnedSite
from canonry.crawler.learn.text.comparison import MOST_ANSWERS, PageVerdict
from canonry.storage.learned.ledger import CONTENT, MINED, OWN_WORD

SAME, DIFFERENT = PageVerdict.SAME, PageVerdict.DIFFERENT
REF = Rewrite("h.example", "parameter-anywhere", old="ref")
PAIRS = st.builds(
    JudgedPair,
    st.sampled_from("abc"),
    st.sampled_from(list(PageVerdict)),
    st.sampled_from([CONTENT, OWN_WORD, MINED]),
    st.integers(1, MOST_ANSWERS),
)


def plain(pairs: list[JudgedPair]) -> ClassTally:
    """Count pairs by the definition of each count."""
    classes = [[pair for pair in pairs if pair.key == key] for key in {pair.key for pair in pairs}]
    same = [[p for p in c if p.verdict is SAME] for c in classes]
    different = [[p for p in c if p.verdict is DIFFERENT] for c in classes]
    every = list(zip(classes, same, different, strict=True))
    equal = [s for _c, s, d in every if s and not d]
    open_ones = [c for c, s, d in every if not s and not d]
    return ClassTally(
        same=len(equal),
        different=sum(bool(d) for d in different),
        refuted=sum(any(p.answers == MOST_ANSWERS for p in d) for d in different),
        unknown=len(open_ones),
        undecidable=sum(any(p.answers > 1 for p in c) for c in open_ones),
        own_word=sum(any(p.source == OWN_WORD for p in s) for s in equal),
        names=sum(len(s) - 1 for s in equal),
        mined=sum(all(p.source == MINED for p in s) for s in equal),
        in_part=sum(bool(s and d) for _c, s, d in every),
    )


@given(st.lists(PAIRS), st.lists(PAIRS))
def test_what_is_counted_as_it_changes_is_what_is_there(
    stay: list[JudgedPair], go: list[JudgedPair]
) -> None:
    counted = PairTally([*go, *stay])
    for pair in go:
        counted.add(pair, -1)
    assert counted.counts == plain(stay)


@given(st.lists(st.tuples(st.integers(0, 5), PAIRS)))
def test_a_pair_counts_once_whatever_it_was_before(changes: list[tuple[int, JudgedPair]]) -> None:
    rule = RuleEvidence(REF)
    for number, pair in changes:
        rule.put(("", str(number)), pair)
    assert rule.tally == plain(list(rule.pairs.values()))


def test_a_rule_that_has_lost_keeps_no_more_pairs() -> None:
    rule = RuleEvidence(REF)
    for n in range(10_000):
        rule.put(pair_of(f"{n}", f"{n}?ref=1"), JudgedPair(f"{n}", DIFFERENT))
    assert rule.is_out
    assert len(rule.pairs) < 1_000


@pytest.mark.parametrize("state", ["candidate", "revoked"])
def test_a_part_of_a_rule_that_has_lost_still_learns_that_it_is_wrong(state: RuleState) -> None:
    site = LearnedSite()
    whole, part = RuleEvidence(REF), RuleEvidence(replace(REF, below="/news/"))
    whole.state, part.state = state, "active"
    site.rules = {rule.rewrite: rule for rule in (whole, part)}
    for n in range(400):
        urls = pair_of(f"http://h.example/shop/{n}", f"http://h.example/shop/{n}?ref=1")
        whole.put(urls, JudgedPair(urls[0], DIFFERENT))
    list(decide(site))
    late = [pair_of(f"http://h.example/news/{n}", f"http://h.example/news/{n}?ref=1") for n in "ab"]
    for urls in late:
        whole.put(urls, JudgedPair(urls[0], DIFFERENT))
        assert urls not in whole.pairs
    assert (part, "active") in [*decide(site)]
    assert part.state == "revoked"


@pytest.mark.parametrize(
    ("differed", "mended", "days", "state"),
    [
        (2, 2, 8, "active"),
        (2, 2, 6, "revoked"),
        (2, 1, 8, "revoked"),
        (0, 0, 8, "revoked"),  # a person revoked it
    ],
)
def test_a_revoked_rule_comes_back_once_nothing_differs_for_which_it_ended(
    differed: int, mended: int, days: int, state: RuleState
) -> None:
    site = LearnedSite()
    site.rules[REF] = rule = RuleEvidence(REF, "revoked", entered_at=1e9)
    pairs = [pair_of(f"http://h.example/{n}", f"http://h.example/{n}?ref=1") for n in range(90)]
    for n, urls in enumerate(pairs):
        rule.restore(urls, JudgedPair(urls[0], DIFFERENT if n < differed else SAME))
        site.found(f"http://h.example/more-{n}?ref=1", n + 1)
    site.began = 1e9 + days * 86_400
    for urls in pairs[:mended]:
        rule.put(urls, JudgedPair(urls[0], SAME))
    rule.put(pairs[-1], JudgedPair(pairs[-1][0], SAME, answers=2))
    list(decide(site))
    assert rule.state == state

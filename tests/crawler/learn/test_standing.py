"""Where a rule stands: the sentence says what the decision asks for."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from support.tables import each

from canonry.canon.learned import Rewrite, RuleState
from canonry.crawler.learn.decision import decide
from canonry.crawler.learn.evidence import ClassTally, JudgedPair, RuleEvidence, pair_of
from canonry.crawler.learn.learned_site import LearnedSite
from canonry.crawler.learn.standing import oriented, standing_of
from canonry.crawler.learn.text.comparison import PageVerdict
from canonry.storage.learned.ledger import CONTENT, MINED, OWN_WORD

H = "http://h.example"
SLASH = Rewrite("h.example", "trailing-slash", new="bare")
REF = Rewrite("h.example", "parameter-anywhere", old="ref")
IN_DOCS = replace(SLASH, below="/docs/")


def evidence(
    rewrite: Rewrite,
    state: RuleState,
    same: int = 0,
    different: Sequence[int] = (),
    unknown: int = 0,
    *,
    words: int = 0,
    names: int = 0,
) -> RuleEvidence:
    """Return a rule with pages that are the same, different with so many answers, and unknown."""
    rule = RuleEvidence(rewrite, state)

    def put(page: str, judged: JudgedPair, other: str = "/") -> None:
        rule.put(pair_of(f"{H}/{page}", f"{H}/{page}{other}"), judged)

    for n in range(same):
        put(f"s{n}", JudgedPair(f"s{n}", PageVerdict.SAME, OWN_WORD if n < words else CONTENT))
    for n in range(names):
        put("s0", JudgedPair("s0", PageVerdict.SAME), f"?{n}")
    for n, answers in enumerate(different):
        put(f"d{n}", JudgedPair(f"d{n}", PageVerdict.DIFFERENT, CONTENT, answers))
    for n in range(unknown):
        put(f"u{n}", JudgedPair(f"u{n}", PageVerdict.UNKNOWN, CONTENT, 1))
    return rule


@each(
    ("rule", "says"),
    [
        (
            evidence(SLASH, "candidate", 11, unknown=2),
            (
                "It needs 1 more page that is the same under both names "
                "(it has 11 of 12; 2 are not known yet)"
            ),
        ),
        (
            evidence(REF, "candidate", 11, unknown=1, words=3),
            (
                "It needs 5 more pages that are the same under both names (it has 11 of 16, "
                "3 of 8 by redirects and canonical links; 1 is not known yet)"
            ),
        ),
        (
            evidence(SLASH, "candidate"),
            "It needs 12 more pages that are the same under both names (it has 0 of 12)",
        ),
        (
            evidence(SLASH, "candidate", 12, unknown=2),
            (
                "It needs to know more: 12 pages are the same, but of 2 it is not known; "
                "1 may stay unknown"
            ),
        ),
        (
            evidence(SLASH, "candidate", 12, unknown=1),
            (
                "It has what it needs, as 12 pages are the same: it acts as soon as 12 URLs wait "
                "that it would hold"
            ),
        ),
        (
            evidence(SLASH, "candidate", 14, [2]),
            (
                f"It does not act: 1 page turned out to be another ({H}/d0/), and 14 pages are the "
                "same; rules for parts without exceptions may act"
            ),
        ),
        (
            evidence(IN_DOCS, "suspended", 1, [4, 4, 4]),
            (
                f"It holds nothing new, but 3 pages turned out to be others ({H}/d0, {H}/d1): "
                "the next crawl revokes it"
            ),
        ),
        (
            evidence(SLASH, "active", 20),
            "It acts, as 20 pages are the same under both names; one page that is another ends it",
        ),
        (
            evidence(SLASH, "active", 120, [4]),
            "It acts, as 120 pages are the same under both names; one page that is another ends it",
        ),
        (
            evidence(SLASH, "active", 120),
            "It acts, as 120 pages are the same under both names; 2 pages that are others end it",
        ),
        (
            evidence(SLASH, "active", 20, [2]),
            (
                "It acts, as 20 pages are the same under both names; one page that is another ends "
                f"it; 1 page seems to be another ({H}/d0/), and is asked again"
            ),
        ),
        (
            evidence(SLASH, "active", 20, [4]),
            f"It acts, but 1 page turned out to be another ({H}/d0/): the next crawl revokes it",
        ),
        (
            evidence(SLASH, "active"),
            "It acts, as it was taken over with no page for it; one page that is another ends it",
        ),
        (
            evidence(SLASH, "revoked", 9, [2, 4]),
            f"Revoked: 2 pages turned out to be others ({H}/d1/, {H}/d0/)",
        ),
        (
            evidence(SLASH, "revoked", 9),
            "Revoked, though no page is known to be another: by people, or an earlier version",
        ),
    ],
)
def test_it_says_what_is_missing_or_what_ends_a_rule(rule: RuleEvidence, says: str) -> None:
    assert standing_of(rule).sentence == says


def test_the_opposite_rule_may_have_more_for_it() -> None:
    turned = replace(SLASH, new="slash")
    against = evidence(turned, "candidate", 9, words=2)
    rule = evidence(SLASH, "candidate", 12, words=1)
    said = f"It does not act: rule {turned.id} says the opposite, and has more for it"
    assert standing_of(rule, against).sentence == said
    assert "has what it needs" in standing_of(rule, evidence(turned, "candidate", 9)).sentence


@pytest.mark.parametrize("seen", range(5))
def test_what_was_mined_needs_pages_that_a_crawl_has_seen(
    seen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = evidence(SLASH, "candidate", seen)
    for n in range(30):
        urls = pair_of(f"{H}/m{n}", f"{H}/m{n}/")
        rule.put(urls, JudgedPair(f"m{n}", PageVerdict.SAME, MINED, 1))
    said = standing_of(rule).sentence
    site = LearnedSite()
    monkeypatch.setattr(site, "may_hold", lambda _said, _number: True)
    site.rules[SLASH] = rule
    acts = [rule.state for rule, _before in decide(site)] == ["active"]
    assert acts == (seen >= 3) == said.startswith("It has what it needs")
    if not acts:
        more = "1 more page" if seen == 2 else f"{3 - seen} more pages"
        assert said == (
            f"It needs {more} that a crawl has found to be the same (it has {seen} of 3; 30 are "
            "from a log or an import)"
        )


def test_names_of_one_page_are_what_a_rule_for_it_needs() -> None:
    rule = RuleEvidence(Rewrite("h.example", "parameter-of-page", old="next", new="/login"))
    rule.given = ClassTally(same=1, names=39)
    said = "It needs 10 more names that are the same under both names (it has 40 of 50)"
    assert standing_of(rule).sentence == said


@each("state", ["candidate", "active", "suspended"])
@each("same", [0, 7, 12, 20, 100, 150])
@each("different", [[], [2], [4], [4, 4]])
@each("unknown", [0, 2, 40])
def test_it_agrees_with_the_decision(
    state: RuleState, same: int, different: Sequence[int], unknown: int
) -> None:
    site = LearnedSite()
    site.may_hold = lambda _said, _number: True  # type: ignore[method-assign]
    rule = evidence(SLASH, state, same, different, unknown)
    before = standing_of(rule)
    site.rules[SLASH] = rule
    changes = [rule.state for rule, _before in decide(site) if rule.rewrite == SLASH]
    assert before.is_doomed == (changes == ["revoked"])
    assert before.sentence.startswith("It has what it needs") == (changes == ["active"])


def test_a_pair_begins_with_the_url_that_the_rule_changes() -> None:
    assert oriented(SLASH, (f"{H}/a", f"{H}/a/")) == (f"{H}/a/", f"{H}/a")
    assert oriented(REF, (f"{H}/a?ref=1", f"{H}/a?ref=2")) == (f"{H}/a?ref=1", f"{H}/a?ref=2")

"""The life of a rule: laws about its states, whatever its evidence is."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import share, tries

from canonry.canon.learned import FAMILIES, Rewrite, RuleState
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.life.lifecycle import (
    MOST_MISSING,
    UNDECIDED,
    is_proven,
    lower_bound,
    missing_for,
    next_state,
)
from canonry.crawler.learn.life.prior import Prior
from canonry.storage.learned.tracked_rule import TrackedRule

LIMITS = thresholds.load()
SLASH = Rewrite("h.example", "trailing-slash", new="slash")
STRONGEST = Prior.of(1.0, 1000.0)  # as far as a fit may go
_RANK: dict[RuleState, int] = {
    "frozen": 0, "revoked": 0, "suspended": 1, "candidate": 1, "probation": 2, "active": 3,
}  # fmt: skip
_COUNTS = st.one_of(st.integers(0, 40), st.integers(0, 3000))
_FEW = st.one_of(st.just(0), st.integers(0, 60))
_RULES = st.builds(
    TrackedRule,
    st.builds(
        Rewrite,
        st.just("h.example"),
        st.sampled_from(sorted(FAMILIES)),
        below=st.sampled_from(["/", "/a/"]),
        subdomains=st.booleans(),
    ),
    state=st.sampled_from(["candidate", "probation", "active", "suspended"]),
    agree=_COUNTS,
    disagree=_FEW,
    moved=_COUNTS,
    trial_agree=st.integers(0, 40),
    trial_disagree=_FEW,
    reversed=_FEW,
    hsts=st.booleans(),
    last_seen=st.sampled_from([0.0, 4000.0]),
)
_PRIORS = st.builds(Prior.of, st.floats(0, 1), st.floats(0, 100))


def state(rule: TrackedRule, prior: Prior | None = None) -> RuleState:
    limits = LIMITS.family[rule.rewrite.family]
    return next_state(rule, limits, prior or limits.prior)


def slash(state: RuleState = "probation", **counts: int) -> TrackedRule:
    return TrackedRule(SLASH, state=state, **counts)  # type: ignore[arg-type]


def contradicted(rule: TrackedRule) -> bool:
    doubted = LIMITS.family[rule.rewrite.family].doubted
    return rule.disagree > 0 and lower_bound(rule.agree, rule.disagree) < doubted


def test_many_rules_are_active_afterwards() -> None:
    """Otherwise the laws below would test nothing."""
    assert share(_RULES, lambda rule: state(rule) == "active") > 0.02
    assert share(_RULES, lambda rule: rule.state == "active" and contradicted(rule)) > 0.02


@given(_RULES, _PRIORS)
@settings(max_examples=tries(1))
def test_no_rule_is_active_against_contrary_evidence_or_without_a_floor_of_paths(
    rule: TrackedRule, prior: Prior
) -> None:
    limits = LIMITS.family[rule.rewrite.family]
    before = replace(rule)
    after = state(rule, prior)
    assert rule == before, "a decision changes nothing"
    if contradicted(rule):
        assert after != "active"
        assert after == "suspended" or rule.state != "active" or rule.reversed
    if rule.state != "active" and after == "active" and not rule.hsts:
        assert rule.agree >= limits.floor
        assert rule.moved >= limits.floor or rule.agree >= limits.content_floor


@given(_RULES, _PRIORS, st.integers(1, 50))
@settings(max_examples=tries(1))
def test_more_agreement_never_harms(rule: TrackedRule, prior: Prior, more: int) -> None:
    before = _RANK[state(rule, prior)]
    agreeing = replace(rule, agree=rule.agree + more, trial_agree=rule.trial_agree + more)
    assert _RANK[state(agreeing, prior)] >= before
    assert _RANK[state(replace(agreeing, moved=rule.moved + more), prior)] >= before


@given(_RULES, _PRIORS)
@settings(max_examples=tries(1))
def test_contrary_evidence_never_helps(rule: TrackedRule, prior: Prior) -> None:
    before = _RANK[state(rule, prior)]
    against = replace(rule, disagree=rule.disagree + 1)
    assert _RANK[state(against, prior)] <= before
    assert _RANK[state(replace(against, trial_disagree=rule.trial_disagree + 1), prior)] <= before


def test_few_clean_paths_are_enough_where_a_family_nearly_always_holds() -> None:
    assert state(slash("candidate", agree=2, moved=2)) == "candidate"
    assert state(slash("candidate", agree=3, moved=3)) == "probation"
    assert state(slash(agree=9, moved=9, trial_agree=6)) == "probation"
    assert state(slash(agree=10, moved=10, trial_agree=2)) == "probation", "a trial is needed"
    assert state(slash(agree=10, moved=10, trial_agree=3)) == "active"


def test_equal_content_needs_more_paths_than_redirects() -> None:
    assert state(slash(agree=13, moved=9, trial_agree=9)) == "probation"
    assert state(slash(agree=14, moved=0, trial_agree=9)) == "active"


def test_a_rule_for_a_part_or_for_subdomains_has_no_experience() -> None:
    for rewrite in (
        Rewrite("h.example", "trailing-slash", new="slash", below="/a/"),
        Rewrite("h.example", "trailing-slash", new="slash", subdomains=True),
    ):
        rule = TrackedRule(rewrite, state="probation", agree=15, moved=15, trial_agree=15)
        assert state(rule, STRONGEST) == "probation"
        assert state(replace(rule, agree=16, trial_agree=11), STRONGEST) == "probation"
        assert state(replace(rule, agree=16, trial_agree=12), STRONGEST) == "active"


@pytest.mark.parametrize("state_before", ["candidate", "probation"])
def test_a_rule_whose_evidence_shrinks_starts_again(state_before: RuleState) -> None:
    assert state(slash(state_before, agree=2, moved=2, trial_agree=30)) == "candidate"


def test_evidence_that_comes_late_suspends_and_revokes() -> None:
    assert state(slash("active", agree=12)) == "active"
    assert state(slash("active", agree=12, disagree=1)) == "suspended", "by the whole evidence"
    assert state(slash("suspended", agree=12, disagree=1)) == "suspended"
    assert state(slash("suspended", agree=12, disagree=2)) == "revoked"
    assert state(slash("suspended", agree=900, disagree=2)) == "suspended", "a rare exception"
    assert state(slash("suspended", agree=900, disagree=2, trial_agree=16)) == "active"


def test_contrary_evidence_that_is_withdrawn_lets_a_rule_come_back() -> None:
    assert state(slash("suspended", agree=20, moved=20, trial_agree=2)) == "suspended"
    assert state(slash("suspended", agree=20, moved=20, trial_agree=3)) == "active"
    assert state(slash("revoked", agree=20, moved=20, trial_agree=99)) == "revoked"


def test_the_floors_keep_parameters_that_select_content_on_a_fifth_of_the_pages_out() -> None:
    """Whatever a store has experienced: one of 260 such hosts passes by chance."""
    for name in ("parameter-irrelevant", "path-prefix", "letter-case", "host-alias"):
        limits = LIMITS.family[name]
        rule = TrackedRule(Rewrite("h.example", name), agree=24, moved=0)
        assert not is_proven(rule, limits, STRONGEST)
        assert 0.8**limits.content_floor < 1 / 260


@given(_RULES)
def test_a_rule_that_has_what_was_missing_becomes_active(rule: TrackedRule) -> None:
    rule = replace(rule, reversed=0, trial_disagree=0)
    if rule.state == "active" or state(rule) == "revoked":
        return
    limits = LIMITS.family[rule.rewrite.family]
    missing = missing_for(rule, limits, limits.prior)
    grown = replace(
        rule,
        agree=rule.agree + missing.paths,
        moved=rule.moved + missing.paths * bool(rule.moved),
        trial_agree=missing.trial + (0 if rule.state == "candidate" else rule.trial_agree),
        last_seen=rule.last_seen + missing.seconds,
        state="probation" if rule.state in UNDECIDED else rule.state,
    )
    if missing.paths < MOST_MISSING:
        assert state(grown) == "active"
    if rule.state != "candidate":
        assert (missing == (0, 0, 0.0)) == (state(rule) == "active")

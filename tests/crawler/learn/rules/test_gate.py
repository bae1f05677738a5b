"""The gate: how much a rule may change and merge, measured on the known URLs of its site."""

import dataclasses
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.stores import MAKE, candidate, open_store

from canonry.canon.learned import Rewrite, RuleState
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.life.in_words import HELD_BACK
from canonry.crawler.learn.life.lifecycle import IN_FORCE
from canonry.crawler.learn.rules.gate import reason_held_back, reason_to_block
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.storage.learned import history, rule_rows
from canonry.storage.learned.tracked_rule import Hindrance, TrackedRule

H = "http://h.example"
PATH = Rewrite("h.example", "path-parameter", old="s")
QUERY = Rewrite("h.example", "parameter-irrelevant", old="s")
SLASH = Rewrite("127.0.0.1:8000", "trailing-slash", new="bare")


def reason(folder: Path, said: Rewrite, known: Iterable[str], agree: int = 0) -> str | None:
    """Return the reason why a rule may not become active in a store that knows some URLs."""
    store = open_store(folder)
    store.admit([candidate(url) for url in known], 0.0)
    with store.transaction() as connection:
        gate = thresholds.load().gate
        rule = TrackedRule(said, agree=agree)
        found = reason_to_block(connection, rule, RulesInForce((), MAKE), MAKE, gate, 0.0)
    store.close()
    return found


@pytest.mark.parametrize("said", [PATH, QUERY])
@pytest.mark.parametrize(("pages", "blocked"), [(20, False), (4, True), (1, True)])
def test_a_parameter_of_every_url_may_be_dropped_if_pages_remain(
    tmp_path: Path, said: Rewrite, pages: int, *, blocked: bool
) -> None:
    """Session ids are in all links of a site; so may be what selects the page."""
    mark = ";" if said is PATH else "?"
    found = reason(tmp_path, said, (f"{H}/p{n % pages}{mark}s={n}" for n in range(300)))
    assert (found == "it would change 300 of 300 known URLs") is blocked
    assert blocked or found is None


def test_a_parameter_with_evidence_for_many_of_the_pages_may_merge_any_number(
    tmp_path: Path,
) -> None:
    """A small site shows thousands of URLs if each link of each answer has a fresh session id."""
    known = [f"{H}/p{n % 30}?s={n}" for n in range(3_000)]
    assert reason(tmp_path, QUERY, known, 2) == "it would change 3,000 of 3,000 known URLs"
    assert reason(tmp_path, QUERY, known, 3) is None


@pytest.mark.parametrize(("changed", "blocked"), [(269, None), (271, "it would change 271 of 300")])
def test_a_rule_may_change_nine_tenths_of_the_known_urls(
    tmp_path: Path, changed: int, blocked: str | None
) -> None:
    known = [f"http://127.0.0.1:8000/p{n}{'/' * (n < changed)}" for n in range(300)]
    found = reason(tmp_path, SLASH, known)
    assert found == (None if blocked is None else f"{blocked} known URLs")


@pytest.mark.parametrize(("capitals", "largest"), [(6, None), (7, 127)])
def test_a_rule_may_merge_so_many_urls_into_one(
    tmp_path: Path, capitals: int, largest: int | None
) -> None:
    """Of seven letters, 127 spellings have a capital."""
    words = ["".join(letters) for letters in product(*(("a", "A"),) * capitals)]
    known = [f"{H}/{word}" for word in words] + [f"{H}/{n}" for n in range(300)]
    found = reason(tmp_path, Rewrite("h.example", "letter-case"), known)
    assert found == (None if largest is None else f"it would merge {largest} URLs into one")


def test_urls_of_another_port_do_not_make_a_rule_look_smaller(tmp_path: Path) -> None:
    others = [f"http://127.0.0.1:8001/{n}" for n in range(300)]
    found = reason(tmp_path, SLASH, [*others, *(f"http://127.0.0.1:8000/{n}/" for n in range(300))])
    assert found == "it would change 300 of 300 known URLs"


@pytest.mark.parametrize(("same", "is_blocked"), [(299, True), (300, False)])
@pytest.mark.parametrize("come_last", [False, True])
def test_all_urls_count_of_which_only_some_are_read(
    tmp_path: Path, same: int, *, is_blocked: bool, come_last: bool
) -> None:
    """Of 3,000, a thousand are read at once."""
    ends = ["/"] * (3_000 - same) + [""] * same
    ends = ends if come_last else ends[::-1]
    known = (f"http://127.0.0.1:8000/p{n}{end}" for n, end in enumerate(ends))
    blocked = f"it would change {3_000 - same:,} of 3,000 known URLs"
    assert reason(tmp_path, SLASH, known) == (blocked if is_blocked else None)


def test_many_urls_of_another_port_that_are_read_first_say_nothing(tmp_path: Path) -> None:
    others = [f"http://127.0.0.1:8001/{n}" for n in range(1_500)]
    known = [*others, *(f"http://127.0.0.1:8000/{n}/" for n in range(1_500))]
    assert reason(tmp_path, SLASH, known) == "it would change 1,500 of 1,500 known URLs"


@pytest.mark.parametrize(
    ("family", "to"),
    [
        ("www", "http://www.h.example"),
        ("host-alias", "http://o.example"),
        ("scheme-upgrade", "https://h.example"),
    ],
)
def test_a_rule_that_moves_a_whole_site_may_change_all_of_it(
    tmp_path: Path, family: str, to: str
) -> None:
    new = "" if family == "scheme-upgrade" else to.partition("//")[2]
    said = Rewrite("h.example", family, new=new)
    assert reason(tmp_path, said, (f"{H}/{n}" for n in range(300))) is None


@pytest.mark.parametrize("state", IN_FORCE)
def test_a_rule_waits_for_one_in_force_that_says_the_reverse(
    tmp_path: Path, state: RuleState
) -> None:
    """What a suspended rule holds is held by what it said."""
    said = Rewrite("h.example", "path-prefix", old="/stable/", new="/latest/")
    reverse = TrackedRule(replace(said, old="/latest/", new="/stable/"), state)
    store = open_store(tmp_path)
    with store.transaction() as connection:
        in_force = RulesInForce([reverse.as_learned()], MAKE)
        gate = thresholds.load().gate
        found = reason_to_block(connection, TrackedRule(said), in_force, MAKE, gate, 0.0)
    store.close()
    assert found == "it would form a circle with rules that are active or suspended"


def proven(said: Rewrite, disagree: int = 0, state: RuleState = "probation") -> TrackedRule:
    """Return a rule with a hundred paths for it, as the store has it."""
    return TrackedRule(said, state, 100, disagree, 100, trial_agree=60)


SITE = Rewrite("h.example", "trailing-slash", new="bare")
PART = replace(SITE, below="/docs/")
OPPOSITE = replace(SITE, new="slash")
ALIAS = Rewrite("h.example", "host-alias", new="o.example")


def held_back(why: Hindrance) -> TrackedRule:
    """Return a rule for one path that has evidence enough, and does not act."""
    return dataclasses.replace(proven(PART), held_back=why)


@pytest.mark.parametrize(
    ("rule", "others", "expected"),
    [
        (proven(PART), [proven(SITE, 20)], "of the whole host, 100 paths agree and 20 disagree"),
        (proven(PART), [proven(SITE, 0, "active")], "says the same of the whole host"),
        (proven(SITE), [proven(OPPOSITE, 0, "active")], "says the opposite, and is active"),
        (proven(SITE), [], "it would change 300 of 300 known URLs"),
        (proven(PART), [proven(SITE)], "the next crawl decides"),
        *((held_back(why), [], said) for why, said in HELD_BACK.items()),
        (
            dataclasses.replace(held_back("selects"), state="suspended", trial_agree=0),
            [],
            f"{HELD_BACK['selects']}; it needs 3 more predictions to come true while it is suspen",
        ),
        (proven(SITE, 0, "active"), [], None),
        (proven(PART, 20), [proven(SITE, 20)], "it needs "),
        (proven(SITE, 0, "revoked"), [], None),
        (
            TrackedRule(SITE, "probation", 5, 0, 5, trial_agree=0, first_seen=1, last_seen=9),
            [],
            "it needs 5 more paths for it, and none against; 3 more predictions to come true on ",
        ),
        (
            TrackedRule(ALIAS, "probation", 40, 0, 40, 20, first_seen=1, last_seen=13),
            [],
            "it needs evidence over 3,600 s (now 12 s)",
        ),
        (
            TrackedRule(SITE, "suspended", 100, 1, 100, trial_agree=15),
            [],
            "more paths for it, and none against; 1 more prediction to come true while it is sus",
        ),
        (TrackedRule(SITE, "probation", 7, 196), [], "it needs more than 10,000 more paths"),
    ],
)
def test_a_rule_with_evidence_enough_says_what_holds_it_back(
    tmp_path: Path, rule: TrackedRule, others: list[TrackedRule], expected: str | None
) -> None:
    store = open_store(tmp_path)
    store.admit([candidate(f"{H}/p{n}/") for n in range(300)], 0.0)
    with store.transaction() as connection:
        rule_rows.put(connection, [rule, *others])
        history.index(connection)
        [rule] = rule_rows.with_prefix(connection, rule.id)
        found = reason_held_back(connection, rule, MAKE, thresholds.load(), 0.0)
    store.close()
    assert found is None if expected is None else found is not None and expected in found

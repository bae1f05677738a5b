"""Rules that were revoked come back when people ask for it, also while a crawl is running."""

from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.crawls import SEED, crawl, page, target_of
from support.databases import url_of
from support.servers import Answer, ok
from support.stores import MAKE, admit_names, assert_counts_are_right, open_store

from canonry.canon import LearnedRule, RulesError
from canonry.crawler import opening
from canonry.crawler.cli.commands import main
from canonry.crawler.learn.rules import rule_store
from canonry.storage import Store, StoreError
from canonry.storage.learned import rule_rows
from canonry.storage.learned.applied_rules import AppliedRules
from canonry.storage.learned.rule_rows import TrackedRule
from canonry.storage.reading import report

SLASH_FIELDS = {"host": "h.example", "family": "trailing-slash", "new": "bare"}
SLASH = LearnedRule(**SLASH_FIELDS)
TURNED = LearnedRule(host="h.example", family="trailing-slash", new="slash")


def import_rules(store: Store, *rules: LearnedRule) -> None:
    with store.transaction() as connection:
        rule_store.import_rules(connection, rules, MAKE, 3.0)


def revoke(store: Store, rule: LearnedRule = SLASH) -> AppliedRules:
    with store.transaction() as connection:
        return rule_store.revoke(connection, rule_store.find(connection, rule.id), MAKE, 4.0)


def reinstate(store: Store, rule: LearnedRule = SLASH, *, trial: bool = False) -> AppliedRules:
    with store.transaction() as connection:
        found = rule_store.find(connection, rule.id)
        done = rule_store.reinstate(connection, found, MAKE, 5.0, trial=trial)
        assert_counts_are_right(connection)
        return done


def test_a_reinstated_rule_holds_what_it_held(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit_names(store, 3)
    import_rules(store, SLASH)
    released = revoke(store).released
    assert len(released) == 3
    assert sorted(reinstate(store).held) == sorted(released)
    with store.transaction() as connection:
        [rule] = rule_row(connection)
    assert (rule.state, rule.entered_at) == ("active", 5.0)
    store.close()


def rule_row(connection: object) -> list[TrackedRule]:
    return rule_rows.with_prefix(connection, SLASH.id)  # type: ignore[arg-type]


def test_on_trial_it_holds_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit_names(store, 3)
    import_rules(store, SLASH)
    revoke(store)
    assert reinstate(store, trial=True).held == []
    with store.transaction() as connection:
        [rule] = rule_row(connection)
    assert rule.state == "candidate"
    store.close()


@pytest.mark.parametrize("state", ["active", "candidate", "suspended"])
def test_only_revoked_rules_come_back(tmp_path: Path, state: str) -> None:
    store = open_store(tmp_path)
    import_rules(store, LearnedRule(**{**SLASH_FIELDS, "state": state}))  # type: ignore[arg-type]
    with pytest.raises(StoreError, match=f"is {state}: only revoked rules come back"):
        reinstate(store)
    store.close()


def test_one_whose_opposite_is_active_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    import_rules(store, SLASH)
    revoke(store)
    import_rules(store, TURNED)
    with pytest.raises(StoreError, match=f"{TURNED.id} says the opposite and is active; revoke"):
        reinstate(store)
    revoke(store, TURNED)
    reinstate(store)
    store.close()


def test_one_that_forms_a_circle_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    hosts = ("a.example", "b.example", "c.example", "a.example")
    circle = [
        LearnedRule(host=one, family="host-alias", new=other) for one, other in pairwise(hosts)
    ]
    import_rules(store, circle[0])
    revoke(store, circle[0])
    import_rules(store, *circle[1:])
    with pytest.raises(RulesError, match="leads back to itself through other rules"):
        reinstate(store, circle[0])
    with store.transaction() as connection:
        [rule] = rule_rows.with_prefix(connection, circle[0].id)
    assert rule.state == "revoked"
    store.close()


def test_a_running_crawl_follows(tmp_path: Path) -> None:
    """Links that are found after a revocation are fetched; after a reinstatement, they are not."""
    store = f"sqlite:///{tmp_path / 'store.db'}"
    rule = LearnedRule(host="a.example", family="trailing-slash", new="bare")
    asked: list[str] = []

    def change(*, back: bool) -> None:
        with opening.changing(store, None, asked.append) as (connection, canonicalizer):
            found = rule_store.find(connection, rule.id)
            if back:
                rule_store.reinstate(connection, found, canonicalizer, 9.0)
            else:
                rule_store.revoke(connection, found, canonicalizer, 9.0)

    def answer(head: bytes) -> Answer:
        target = target_of(head)
        asked.append(target)
        if target == "/robots.txt":
            return ok(b"", status="404 Not Found")
        if target in {"/2", "/3"}:
            change(back=target == "/3")
        number = target.strip("/")
        if number in {"", "1", "2", "3"}:
            after = int(number or 0) + 1
            names = [f"/x{after}/{n}{end}" for n in range(12) for end in ("", "/")]
            return page(*names, f"/{after}")
        return ok(target.rstrip("/").encode(), "Content-Type: text/plain")

    made = opening.open_store(store, MAKE.policy, asked.append)
    import_rules(made, rule)
    made.close()
    crawl(tmp_path, answer)
    with report.reading(store) as connection:
        states = {row["url"]: row["state"] for row in report.rows(connection, "urls")}
    held = {after: _held(states, after) for after in range(1, 5)}
    assert held[1] == held[2] == 0, "the revocation has released them"
    assert held[3] == 0, "they were found while the rule was revoked"
    assert held[4] > 6, "they were found after the reinstatement; some are fetched to verify it"
    assert f"/x4/{next(n for n in range(12) if _is_held(states, 4, n))}/" not in asked


def _is_held(states: dict[str, str], folder: int, number: int) -> bool:
    return states[f"{SEED}x{folder}/{number}/"] == "held"


def _held(states: dict[str, str], folder: int) -> int:
    return sum(_is_held(states, folder, n) for n in range(12))


def test_the_command(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit_names(store, 2)
    import_rules(store, SLASH)
    store.close()
    given = ["--store", url_of(tmp_path)]
    assert CliRunner().invoke(main, ["rules", "revoke", SLASH.id[:6], *given]).exit_code == 0
    done = CliRunner().invoke(main, ["rules", "reinstate", SLASH.id[:6], *given])
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert f"rule {SLASH.id} is reinstated: h.example: a path is the same" in said
    assert "2 queued URLs held as duplicates" in said
    assert said.endswith(
        f"rule {SLASH.id}: It acts, as it was taken over with no page for it; one page that is "
        "another ends it"
    )
    done = CliRunner().invoke(main, ["rules", "reinstate", SLASH.id[:6], *given])
    assert done.exit_code == 1
    assert "is active: only revoked rules come back" in " ".join(done.output.split())

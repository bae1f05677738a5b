"""What the commands ``canonry rules`` say, in the words of people; and what an import undoes."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from support.crawls import crawl, page
from support.databases import url_of
from support.servers import Answer
from support.stores import MAKE, admit_names, open_store

from canonry.canon import LearnedRule, RuleSet
from canonry.canon.learned import RuleState
from canonry.crawler.cli.commands import main
from canonry.crawler.learn.rules import rule_store
from canonry.storage.facts import recorded_policy
from canonry.storage.learned import rule_rows
from canonry.storage.learned.tracked_rule import TrackedRule


def _rule(state: RuleState = "active", host: str = "h.example") -> LearnedRule:
    return LearnedRule(host=host, family="trailing-slash", new="bare", state=state)


def _other(state: RuleState) -> LearnedRule:
    return LearnedRule(host="h.example", family="parameter-irrelevant", old="ref", state=state)


SLASH = _rule()
SEED = "http://h.example/"


def _made(folder: Path, *rules: LearnedRule) -> str:
    """Make a store with three held names and some rules; return the option that names it."""
    store = open_store(folder)
    admit_names(store, 3)
    with store.transaction() as connection:
        rule_store.import_rules(connection, rules, MAKE, 3.0)
    store.close()
    return f"--store={url_of(folder)}"


def _put(folder: Path, rule: TrackedRule) -> None:
    store = open_store(folder)
    with store.transaction() as connection:
        rule_rows.put(connection, [rule])
    store.close()


def _file(folder: Path, *rules: LearnedRule, policy: str = "web/1") -> str:
    file = folder / "rules.json"
    file.write_text(RuleSet(rules, policy).dumps(), encoding="utf-8")
    return str(file)


def _run(*words: str, code: int = 0) -> Result:
    done = CliRunner().invoke(main, ["rules", *words])
    assert done.exit_code == code, done.output
    return done


def _said(*words: str, code: int = 0) -> str:
    return " ".join(_run(*words, code=code).output.split())


def _json(*words: str) -> Any:  # noqa: ANN401 - a list or an object
    return json.loads(_run(*words, "--json").stdout)


def test_an_import_says_what_it_overruled(tmp_path: Path) -> None:
    store = _made(tmp_path, SLASH, _other("revoked"), _rule("frozen", "x.example"))
    given = SLASH, _other("active"), _rule("frozen", "x.example")
    assert _json("import", _file(tmp_path, *given), "--trial", store) == {
        "rules": 3,
        "active": 0,
        "held": 0,
        "were_withdrawn": 1,
        "were_active": 1,
        "released": 3,
    }
    said = _said("import", _file(tmp_path, _rule("revoked"), _rule("active", "x.example")), store)
    assert "; 1 had been revoked or frozen here" in said
    assert "active here" not in said, "it was on probation"
    said = _said("import", _file(tmp_path, SLASH), store)
    assert "1 queued URL" not in said
    assert "3 queued URLs held as duplicates; 1 had been revoked or frozen here" in said
    said = _said("import", _file(tmp_path, SLASH), "--trial", store)
    assert said.endswith("; 1 that were active here are on probation now; 3 held URLs released")


def test_an_import_makes_a_store_with_which_a_crawl_begins(tmp_path: Path) -> None:
    store = f"--store={url_of(tmp_path)}"
    said = _said("import", _file(tmp_path, _rule("active", "a.example")), store)
    assert "1 rule imported, 1 of them active" in said
    assert "under policy web/1" in said

    def answer(_head: bytes) -> Answer:
        return page(*(f"/p{n}{end}" for n in range(60) for end in ("", "/")))

    crawl(tmp_path, answer)
    found = json.loads(CliRunner().invoke(main, ["status", store, "--json"]).stdout)
    assert found["held"]["learned"] > 30, "some are fetched to verify it"


def test_a_new_store_has_the_policy_of_the_rules(tmp_path: Path) -> None:
    store = f"--store={url_of(tmp_path)}"
    rules = _file(tmp_path, SLASH, policy="search/1")
    assert "under policy search/1, not web" in _said("import", rules, store, "--policy=web", code=2)
    assert recorded_policy(url_of(tmp_path)) is None
    _run("import", rules, store)
    assert recorded_policy(url_of(tmp_path)) == "search/1"
    other = f"--store={url_of(tmp_path / 'x')}"
    (tmp_path / "x").mkdir()
    _run("import", rules, other, "--policy=search")
    assert recorded_policy(url_of(tmp_path / "x")) == "search/1"


def test_what_no_crawl_has_verified_says_never(tmp_path: Path) -> None:
    store = _made(tmp_path, SLASH, _other("candidate"))
    assert _json("show", SLASH.id, store)["verified_at"] is None
    assert {rule["verified_at"] for rule in _json("list", "--all", store)} == {None}
    assert _said("list", store).endswith(" never")
    assert "verified never" in _said("show", SLASH.id, store)


def test_it_says_that_nothing_matches_and_how_many_rules_there_are(tmp_path: Path) -> None:
    store = _made(tmp_path, SLASH, _other("candidate"))
    has = "no rule matches; the store has 2 rules: 1 active, 1 candidate"
    assert _said("list", "--state", "revoked", store) == has
    assert _said("list", "--host", "x.example", store) == f"{has}; --all lists candidates, too"
    (tmp_path / "none").mkdir()
    none = _made(tmp_path / "none")
    assert _said("list", "--state", "revoked", none).startswith("no rules; crawls learn them")


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("candidate", "a candidate since"),
        ("probation", "on probation since"),
        ("revoked", "revoked since"),
    ],
)
def test_states_are_words_of_a_sentence(tmp_path: Path, state: RuleState, says: str) -> None:
    store = _made(tmp_path, _rule(state))
    said = _said("show", SLASH.id, store)
    assert "0 paths for it, 0 against; in this state: 0 for, 0 against" in said
    assert says in said


def test_a_candidate_that_never_entered_its_state_has_no_time_of_that(tmp_path: Path) -> None:
    store = _made(tmp_path)
    _put(tmp_path, TrackedRule(SLASH.rewrite, agree=1, first_seen=5.0, last_seen=5.0))
    said = _said("show", SLASH.id, store)
    assert "a candidate, verified never" in said
    assert "held back: it needs 13 more paths for it, and none against; 3 more predictions" in said


def test_a_url_that_leads_to_itself_is_told_so(tmp_path: Path) -> None:
    store = _made(tmp_path)
    rule = TrackedRule(SLASH.rewrite, "suspended", 20, 2)
    rule.add_sample(f"{SEED}a/", f"{SEED}a/", agrees=False)
    rule.add_sample(f"{SEED}b/", f"{SEED}c", agrees=False)
    _put(tmp_path, rule)
    said = _said("show", SLASH.id, store)
    assert f"{SEED}a/ answers by itself, or names itself in its canonical link" in said
    assert f"{SEED}b/ leads to {SEED}c" in said


def test_a_second_revocation_says_that_there_was_one(tmp_path: Path) -> None:
    store = _made(tmp_path, SLASH)
    said = _said("revoke", SLASH.id, store)
    assert "3 URLs went back to the queue; the next crawl with this store asks them" in said
    since = _json("show", SLASH.id, store)["entered_at"]
    said = _said("revoke", SLASH.id, store)
    assert f"rule {SLASH.id} was revoked before: h.example: " in said
    assert said.endswith("; nothing was changed")
    assert _json("revoke", SLASH.id, store)["released"] == 0
    assert _json("show", SLASH.id, store)["entered_at"] == since
    assert "is reinstated, and on probation: " in _said("reinstate", "--trial", SLASH.id, store)


def test_mining_says_how_many_redirects_make_a_candidate(tmp_path: Path) -> None:
    log = tmp_path / "log.tsv"
    log.write_text("".join(f"{SEED}{n}\t{SEED}{n}/\t301\n" for n in range(2)), encoding="utf-8")
    said = _said("mine", str(log), "-o", str(tmp_path / "rules.json"))
    assert said.endswith("0 candidates; one takes 3 redirects on a host that agree, or more")
    log.write_text("".join(f"{SEED}{n}\t{SEED}{n}/\t301\n" for n in range(9)), encoding="utf-8")
    said = _said("mine", str(log), "-o", str(tmp_path / "rules.json"))
    assert said.endswith(": 1 candidate")

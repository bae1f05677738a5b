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
from canonry.storage.learned import ledger, rule_rows
from canonry.storage.learned.ledger import StoredPair
from canonry.storage.learned.rule_rows import TrackedRule


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


def _put(folder: Path, rule: TrackedRule, *pairs: StoredPair) -> None:
    store = open_store(folder)
    with store.transaction() as connection:
        rule_rows.put(connection, [rule])
        ledger.put_pairs(connection, pairs)
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
    store = _made(tmp_path, SLASH, _other("revoked"), _rule("revoked", "x.example"))
    given = SLASH, _other("active"), _rule("revoked", "x.example")
    assert _json("import", _file(tmp_path, *given), "--trial", store) == {
        "rules": 3,
        "active": 0,
        "held": 0,
        "were_withdrawn": 1,
        "were_active": 1,
        "released": 3,
    }
    said = _said("import", _file(tmp_path, _rule("revoked"), _rule("active", "x.example")), store)
    assert "; 1 had been revoked here" in said
    assert "active here" not in said, "it was a candidate"
    said = _said("import", _file(tmp_path, SLASH), store)
    assert "1 queued URL" not in said
    assert "3 queued URLs held as duplicates; 1 had been revoked here" in said
    said = _said("import", _file(tmp_path, SLASH), "--trial", store)
    assert said.endswith("; 1 that were active here are candidates now; 3 held URLs released")


def test_an_import_makes_a_store_with_which_a_crawl_begins(tmp_path: Path) -> None:
    store = f"--store={url_of(tmp_path)}"
    said = _said("import", _file(tmp_path, _rule("active", "a.example")), store)
    assert "1 rule imported, 1 of them active" in said
    assert "under policy web@1" in said

    def answer(_head: bytes) -> Answer:
        return page(*(f"/p{n}{end}" for n in range(60) for end in ("", "/")))

    crawl(tmp_path, answer)
    found = json.loads(CliRunner().invoke(main, ["status", store, "--json"]).stdout)
    assert found["held"]["learned"] > 30, "some are fetched to verify it"


def test_a_new_store_has_the_policy_of_the_rules(tmp_path: Path) -> None:
    store = f"--store={url_of(tmp_path)}"
    rules = _file(tmp_path, SLASH, policy="search/1")
    assert "under policy search@1, not web" in _said("import", rules, store, "--policy=web", code=2)
    assert recorded_policy(url_of(tmp_path)) is None
    _run("import", rules, store)
    assert recorded_policy(url_of(tmp_path)) == "search/1"
    other = f"--store={url_of(tmp_path / 'x')}"
    (tmp_path / "x").mkdir()
    _run("import", rules, other, "--policy=search")
    assert recorded_policy(url_of(tmp_path / "x")) == "search/1"


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
        ("candidate", "It needs 12 more pages that are the same under both names (it has 0 of 12)"),
        (
            "active",
            "It acts, as it was taken over with no page for it; one page that is another ends it",
        ),
        ("revoked", "Revoked, though no page is known to be another: by people, or"),
    ],
)
def test_where_a_rule_stands_is_one_sentence(tmp_path: Path, state: RuleState, says: str) -> None:
    store = _made(tmp_path, _rule(state))
    said = _said("show", SLASH.id, store)
    assert says in said
    held = 3 * (state == "active")
    assert f"0 pages for it, 0 against; {held} URLs held because of it, and not fetched" in said
    assert f"{state} since 1970-01-01 00:00:03Z; first seen" in said
    shown = _json("show", SLASH.id, store)
    assert shown["standing"].startswith(says)
    assert shown["held_back"] == (shown["standing"] if state == "candidate" else None)


def test_a_candidate_that_never_entered_its_state_has_no_time_of_that(tmp_path: Path) -> None:
    store = _made(tmp_path)
    _put(tmp_path, TrackedRule(SLASH.rewrite, agree=1, first_seen=5.0, last_seen=5.0))
    said = _said("show", SLASH.id, store)
    assert "candidate; first seen" in said
    assert "It needs 11 more pages that are the same under both names (it has 1 of 12)" in said


def test_evidence_is_shown_with_its_source_and_its_day(tmp_path: Path) -> None:
    store = _made(tmp_path)
    names = [f"{SEED}{n:02}" for n in range(14)]
    verdicts = [ledger.DIFFERENT, ledger.UNKNOWN] + 12 * [ledger.SAME]
    pairs = [
        StoredPair(SLASH.id, name, f"{name}/", name, verdict, n % 3, 4, 86_400.0 * n)
        for n, (name, verdict) in enumerate(zip(names, verdicts, strict=True))
    ]
    _put(tmp_path, TrackedRule(SLASH.rewrite, "revoked", 12, 1), *pairs)
    said = _said("show", SLASH.id, store)
    assert f"Revoked: 1 page turned out to be another ({SEED}00/)" in said
    assert f"Evidence against it URL what it is by on {SEED}00/ leads to {SEED}00 content" in said
    assert f"may be the same as by on {SEED}01/ {SEED}01 own word 1970-01-02" in said
    assert f"Evidence for it URL is the same as by on {SEED}02/ {SEED}02 mined 1970-01-03" in said
    assert f"{SEED}05/" in said
    assert f"{SEED}06/" not in said
    assert "and 8 more: --json has all" in said
    shown = _json("show", SLASH.id, store)
    assert len(shown["pairs"]) == 14
    assert shown["pairs"][1] == {
        "url": f"{SEED}01/",
        "found": f"{SEED}01",
        "verdict": "unknown",
        "source": "own-word",
        "answers": 4,
        "at": "1970-01-02T00:00:00.000Z",
    }
    assert shown["pages"] == {
        "same": 12,
        "own_word": 4,
        "names": 0,
        "mined": 4,
        "different": 1,
        "refuted": 1,
        "unknown": 1,
        "needed": 12,
        "needed_by_own_word": 8,
        "may_be_unknown": 1,
    }
    assert shown["evidence"]["against"] == [[f"{SEED}00/", f"{SEED}00"]]


def test_a_reinstated_rule_that_will_not_stay_says_so(tmp_path: Path) -> None:
    store = _made(tmp_path)
    pair = StoredPair(SLASH.id, f"{SEED}a", f"{SEED}a/", f"{SEED}a", ledger.DIFFERENT, 0, 4, 5.0)
    _put(tmp_path, TrackedRule(SLASH.rewrite, "revoked", 20, 1), pair)
    said = _said("reinstate", SLASH.id, store)
    doubt = f"It acts, but 1 page turned out to be another ({SEED}a/): the next crawl revokes it"
    assert said.endswith(f"canonry: rule {SLASH.id}: {doubt}")
    _run("revoke", SLASH.id, store)
    assert _json("reinstate", SLASH.id, store)["doubt"] == doubt
    _run("revoke", SLASH.id, store)
    assert _json("reinstate", "--trial", SLASH.id, store)["doubt"] is None


def test_a_second_revocation_says_that_there_was_one(tmp_path: Path) -> None:
    store = _made(tmp_path, SLASH)
    said = _said("revoke", SLASH.id, store)
    assert "3 URLs went back to the queue; the next crawl with this store fetches them" in said
    since = _json("show", SLASH.id, store)["entered_at"]
    said = _said("revoke", SLASH.id, store)
    assert f"rule {SLASH.id} was revoked before: h.example: " in said
    assert said.endswith("; nothing was changed")
    assert _json("revoke", SLASH.id, store)["released"] == 0
    assert _json("show", SLASH.id, store)["entered_at"] == since
    assert "It needs 12 more pages" in _said("reinstate", "--trial", SLASH.id, store)


def test_mining_says_how_many_redirects_make_a_candidate(tmp_path: Path) -> None:
    log = tmp_path / "log.tsv"
    log.write_text("".join(f"{SEED}{n}\t{SEED}{n}/\t301\n" for n in range(2)), encoding="utf-8")
    said = _said("mine", str(log), "-o", str(tmp_path / "rules.json"))
    assert said.endswith("0 candidates; one takes 3 pages of a host that agree, or more")
    log.write_text("".join(f"{SEED}{n}\t{SEED}{n}/\t301\n" for n in range(9)), encoding="utf-8")
    said = _said("mine", str(log), "-o", str(tmp_path / "rules.json"))
    assert said.endswith(": 0 active rules, 1 candidate")


def test_what_is_mined_is_in_the_ledger(tmp_path: Path) -> None:
    store = _made(tmp_path, SLASH)
    log = tmp_path / "log.tsv"
    names = [f"{SEED}{n}/\t{SEED}{n}\t301\n" for n in range(9)]
    refs = [f"{SEED}{n}?ref=1\t{SEED}{n}\t301\n" for n in range(9)]
    log.write_text("".join([*names, *refs]), encoding="utf-8")
    found = _json("mine", str(log), store)
    assert (found["redirects"], found["candidates"]) == (18, 2)
    by_family = {rule["family"]: rule for rule in _json("list", "--all", store)["rules"]}
    assert by_family["trailing-slash"]["state"] == "active", "the store's own state stays"
    assert by_family["trailing-slash"]["suppressed"] == 3
    assert {rule["evidence"]["agree"] for rule in by_family.values()} == {9}
    mined = by_family["parameter-anywhere"]
    assert mined["state"] == "candidate"
    shown = _json("show", mined["id"], store)
    assert {(pair["verdict"], pair["source"]) for pair in shown["pairs"]} == {("same", "mined")}
    assert "it has 9 of 16" in shown["standing"]

"""The list of rules that people see."""

import json
from pathlib import Path

from msgspec.structs import replace
from support.sites import run_command
from support.stores import admit, candidate, visited

from canonry.canon.learned import Evidence, LearnedRule, Rewrite, RuleSet, RuleState, to_fields
from canonry.canon.policies import preset
from canonry.crawler.inquiry.rule_names import listing
from canonry.storage import State, Store
from canonry.storage.learned.rule_rows import TrackedRule
from canonry.storage.records import Hop, Page

SLASH = Rewrite("h.example", "trailing-slash", new="slash")


def tracked(
    state: RuleState, rewrite: Rewrite, below: str = "/", suppressed: int = 0
) -> TrackedRule:
    return TrackedRule(replace(rewrite, below=below), state=state, suppressed=suppressed)


def listed(*rules: TrackedRule, everything: bool = False) -> list[tuple[str, str, str, int]]:
    return [
        (rule.rewrite.host, rule.rewrite.below, rule.state, folded)
        for rule, folded in listing(rules, everything=everything)
    ]


def test_rules_for_folders_are_folded_into_the_rule_of_their_site() -> None:
    folders = [tracked("candidate", SLASH, f"/{n}/") for n in range(6)]
    whole, candidate = tracked("active", SLASH), tracked("candidate", SLASH, "/c/")
    everything = [*folders, whole, candidate, tracked("active", SLASH, "/d/")]
    assert listed(*everything) == [("h.example", "/", "active", 8)]
    assert len(listed(*everything, everything=True)) == 9
    assert all(folded == 0 for *_, folded in listed(*everything, everything=True))


def test_a_rule_for_a_folder_is_listed_if_it_tells_something_else() -> None:
    whole = tracked("candidate", SLASH)
    assert listed(tracked("active", SLASH, "/a/"), whole, tracked("revoked", SLASH, "/b/")) == [
        ("h.example", "/a/", "active", 0),
        ("h.example", "/b/", "revoked", 0),
        ("h.example", "/", "candidate", 0),
    ]
    other = replace(SLASH, new="bare")
    assert len(listed(whole, tracked("candidate", other, "/a/"))) == 2, "it says another thing"
    assert len(listed(whole, tracked("candidate", replace(SLASH, host="o.example"), "/a/"))) == 2


def test_what_suppresses_most_comes_first_and_what_has_no_effect_last() -> None:
    states: list[RuleState] = ["candidate", "revoked", "suspended", "active"]
    rules = [tracked(state, replace(SLASH, host=f"{state}.example")) for state in states]
    much = tracked("active", replace(SLASH, host="z.example"), suppressed=9)
    hosts = [host.partition(".")[0] for host, *_ in listed(*rules, much)]
    assert hosts == ["z", "active", "suspended", "revoked", "candidate"]


def put(folder: Path, *rules: LearnedRule) -> None:
    """Make a store that has some rules."""
    policy = preset("web")
    store = f"sqlite:///{folder / 'canonry.db'}"
    Store(store, policy=policy.label, fingerprint=policy.fingerprint).close()
    (folder / "rules.json").write_text(RuleSet(rules, policy.label).dumps(), encoding="utf-8")
    assert run_command("rules", "import", "rules.json", folder=folder).returncode == 0


def test_the_command_folds_rules_for_folders_and_json_keeps_them(tmp_path: Path) -> None:
    said = [replace(SLASH, below=below) for below in ("/", "/a/", "/b/", "/c/")]
    bare = LearnedRule(**to_fields(replace(SLASH, new="bare")), state="candidate")
    put(tmp_path, *(LearnedRule(**to_fields(one)) for one in said), bare)

    def lines(*words: str) -> list[str]:
        done = run_command("rules", "list", *words, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        return [" ".join(line.split()) for line in done.stdout.decode().splitlines()]

    assert sum(" active " in line for line in lines()) == 1
    assert "3 more for its folders" in " ".join(lines())
    assert sum(" active " in line for line in lines("--all")) == 4
    assert "candidate" in " ".join(lines("--all"))
    assert "candidate" not in " ".join(lines())
    assert len(json.loads("".join(lines("--json")))["rules"]) == 4
    assert len(json.loads("".join(lines("--json", "--all")))["rules"]) == 5


def test_show_says_what_is_missing(tmp_path: Path) -> None:
    rule = LearnedRule(**to_fields(SLASH), state="candidate", evidence=Evidence(agree=7))
    put(tmp_path, rule)
    done = run_command("rules", "show", rule.id, folder=tmp_path)
    shown = " ".join(done.stdout.decode().split())
    said = "It needs 5 more pages that are the same under both names (it has 7 of 12)"
    assert said in shown
    done = run_command("rules", "show", rule.id, "--json", folder=tmp_path)
    found = json.loads(done.stdout)
    assert found["standing"] == found["held_back"] == said
    assert (found["state"], found["pages"]["same"], found["pages"]["needed"]) == (
        "candidate",
        7,
        12,
    )
    assert (found["pairs"], found["tests"]) == ([], 0)


def test_show_says_what_speaks_against_a_rule_and_how_it_may_try_again(tmp_path: Path) -> None:
    urls = [f"http://h.example/{name}" for name in ("moved", "gone", "other", "itself")]
    found = ["http://h.example/x", f"{urls[1]}/", f"{urls[2]}/", urls[3]]
    evidence = Evidence(agree=9, disagree=4, against=tuple(zip(urls, found, strict=True)))
    rule = LearnedRule(**to_fields(SLASH), state="revoked", evidence=evidence)
    policy = preset("web")
    store = Store(
        f"sqlite:///{tmp_path / 'canonry.db'}", policy=policy.label, fingerprint=policy.fingerprint
    )
    url_ids = [one.url_id for one in admit(store, urls)]
    page = Page(200, 0.1, "text/html", 9, bytes(16), None, None, 0)
    store.record(
        [
            visited(url_ids[0], State.REDIRECTED, hops=[Hop("redirect", 301, candidate(found[0]))]),
            visited(url_ids[1], State.FETCHED, page=page._replace(status=404)),
            *(visited(url_id, State.FETCHED, page=page) for url_id in url_ids[2:]),
        ],
        1.0,
    )
    store.close()
    (tmp_path / "rules.json").write_text(RuleSet([rule], policy.label).dumps(), encoding="utf-8")
    assert run_command("rules", "import", "rules.json", folder=tmp_path).returncode == 0
    done = run_command("rules", "show", rule.id, folder=tmp_path)
    shown = " ".join(done.stdout.decode().split())
    assert "redirects to http://h.example/x" in shown
    assert "is gone (HTTP 404); http://h.example/gone/ is not" in shown
    assert "is another page than http://h.example/other/" in shown
    assert "answers by itself, or names itself" in shown
    assert f"canonry rules reinstate {rule.id} --trial" in shown

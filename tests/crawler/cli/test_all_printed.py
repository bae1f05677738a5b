"""What every command prints with --json, or writes as JSONL, is what its schema says."""

import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner
from generators.json_page import kinds_of, schema_of
from support.sites import crawl_words, demo_site

from canonry.canon.pipeline import is_compiled
from canonry.crawler.cli.all_printed import PRINTED, ROWS
from canonry.crawler.cli.commands import main
from canonry.crawler.cli.store.export_command import WHAT
from canonry.crawler.demo.site import SEED

# They print no result: they serve, write files of other formats, or make a script.
WITHOUT = {"completion", "export", "identity", "redirects", "rules export", "frontier", "serve"}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def endings(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield the commands that are no groups, with their names."""
    context = click.Context(group)
    for name in group.list_commands(context):
        below = group.get_command(context, name)
        assert below is not None
        if isinstance(below, click.Group):
            yield from endings(below, f"{before}{name} ")
        else:
            yield before + name, below


def test_every_command_with_a_result_has_json_and_a_schema() -> None:
    with_json = {
        name
        for name, command in endings(main)
        if any("--json" in parameter.opts for parameter in command.params)
    }
    assert with_json == PRINTED.keys()
    assert {name for name, _command in endings(main)} - with_json == WITHOUT


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a store of the demo site, and files for all commands."""
    folder = tmp_path_factory.mktemp("printed")
    (folder / "urls.txt").write_text("HTTP://a.example\nhttp://a.example/\nx\n\nhttp://b.example\n")
    (folder / "mine.toml").write_text(
        'name = "mine"\nversion = 2\nextends = "web@1"\n[add]\ntracking = ["ref"]\n'
    )
    (folder / "log.tsv").write_text(
        "".join(f"http://l.example/{n}\thttp://l.example/{n}/\t301\n" for n in range(40))
    )
    (folder / "data.min.json").write_text(
        json.dumps(
            {
                "providers": {
                    "it": {
                        "urlPattern": r"^https?:\/\/(?:[a-z0-9-]+\.)*?it\.example",
                        "rules": ["ref"],
                    }
                }
            }
        )
    )
    (folder / "page.html").write_text("<!DOCTYPE html><a href=x>x</a><a href=http://a.example/>")
    return folder


@pytest.fixture
def told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that runs a command and returns what it printed."""
    monkeypatch.chdir(folder)

    def run(*words: str, code: int = 0) -> Any:  # noqa: ANN401 - of the command
        done = CliRunner().invoke(main, [*words, "--json"])
        assert done.exit_code == code, done.output
        return check(" ".join(words), done.stdout)

    return run


def check(line: str, printed: str) -> Any:  # noqa: ANN401 - of the command
    """Check what a command printed, and return it."""
    return checked(max((name for name in PRINTED if line.startswith(name)), key=len), printed)


def checked(command: str, printed: str) -> Any:  # noqa: ANN401 - of the command
    """Check a JSON document that a command wrote, and return it."""
    faults = []
    for kind in kinds_of(command):
        try:
            read = msgspec.json.decode(printed, type=kind)
        except msgspec.ValidationError as error:
            faults.append(str(error))
            continue
        # A field that the type does not have is lost in it.
        assert msgspec.json.decode(msgspec.json.encode(read)) == json.loads(printed)
        assert [key for key in keys_in(json.loads(printed)) if " " in key] == [], "one fact a key"
        for moment in moments(schema_of(command), json.loads(printed)):
            assert TIME.fullmatch(moment), (command, moment)
        return json.loads(printed)
    raise AssertionError((command, faults))


def keys_in(value: object) -> Iterator[str]:
    """Yield the keys of all objects, without the reasons of lists of rules, which are sentences."""
    if isinstance(value, list):
        for one in value:
            yield from keys_in(one)
    elif isinstance(value, dict):
        for name, held in value.items():
            yield name
            if name != "reasons":
                yield from keys_in(held)


def moments(schema: dict[str, Any], value: object) -> Iterator[str]:
    """Yield the texts that a schema says are times; and those whose name says so."""
    timely = {
        field
        for kind in schema["$defs"].values()
        for field, told in kind["properties"].items()
        if "date-time" in json.dumps(told)
    }
    waiting: list[Any] = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            waiting += one.values()
            for name, held in one.items():
                if name in timely or (name.endswith(("ed_at", "_seen")) and name != "looked_at"):
                    assert held is None or isinstance(held, str), (name, held)
                    yield from [held] * (held is not None)


def written(what: str, lines: str | Path) -> list[dict[str, Any]]:
    """Check each line of JSONL, and return them; the fields are in the order of the schema."""
    text = lines.read_text(encoding="utf-8") if isinstance(lines, Path) else lines
    rows = [checked(what, line) for line in text.splitlines()]
    assert rows, what
    for row in rows:
        assert tuple(row) == ROWS[what].__struct_fields__
    return rows


@pytest.fixture
def exported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that exports rows of a store, checks them, and returns them."""
    monkeypatch.chdir(folder)

    def run(what: str, *words: str) -> list[dict[str, Any]]:
        done = CliRunner().invoke(main, ["export", what, *words])
        assert done.exit_code == 0, done.output
        return written(f"export {what}", done.stdout)

    return run


def test_every_table_that_is_written_has_a_schema() -> None:
    options = {"crawl.log", "dedup -o", "dedup --map", "migrate -o", "redirects"}
    assert {f"export {what}" for what in WHAT} | options == ROWS.keys()


def test_of_urls(told: Callable[..., Any]) -> None:
    assert told("canon", "HTTP://a.example")["identity"] == "http://a.example/"
    assert told("canon", "x", code=1) == {"text": "x", "reason": "relative"}
    assert [s["name"] for s in told("explain", "HTTP://a.example/")["steps"]] == ["scheme-case"]
    assert told("extract", "page.html") == {"urls": ["http://a.example/"], "relative": 1}
    assert told("scope", "test", "http://a.example/", "x", code=1)["urls"][0]["in"]


def test_of_files(told: Callable[..., Any], folder: Path) -> None:
    assert told("dedup", "urls.txt", "-o", "out.txt", "--seen", "a.keys")["distinct"] == 2
    assert told("keys", "info", "a.keys", "--check")["keys"] == 2
    assert told("keys", "merge", "a.keys", "a.keys", "-o", "b.keys") == {"keys": 2, "of": 4}
    assert told("keys", "diff", "a.keys", "b.keys")["both"] == 2
    assert told("keys", "to-store", "a.keys", "--store", "k.db") == {"keys": 2, "new": 2}
    assert told("keys", "from-store", "--store", "k.db", "-o", "c.keys") == {"keys": 2}
    found = told("migrate", "urls.txt", "--from", "surt", "-o", "map.csv")
    assert (found["mapped"], sum(found["refused"].values()), found["cut"]) == (3, 1, [])
    (folder / "cut.gz").write_bytes(gzip.compress(b"http://a.example/\n" * 9)[:-9])
    assert told("migrate", "urls.txt", "cut.gz", "--from", "surt", code=1)["cut"]
    tables = ("-o", "o.jsonl", "--map", "m.jsonl")
    told("dedup", "urls.txt", *tables)
    assert [row["line"] for row in written("dedup -o", folder / "o.jsonl")] == [1, 5]
    fates = [row["rules"] for row in written("dedup --map", folder / "m.jsonl")]
    assert fates == ["first", "scheme-case + empty-path", "refused: relative", "first"]
    told("migrate", "urls.txt", "--from", "surt", "-o", "map.jsonl")
    assert len(written("migrate -o", folder / "map.jsonl")) == 3


def test_of_policies(told: Callable[..., Any]) -> None:
    every = told("policy", "list")["policies"]
    assert told("policy", "show", "web") in every
    [right, wrong] = told("policy", "check", "mine.toml", "urls.toml", code=2)["policies"]
    assert right["differences"] == {"tracking": {"added": ["ref"], "removed": []}}
    assert wrong["policy"] is None
    assert "urls.toml" in wrong["error"]


def test_of_settings(told: Callable[..., Any]) -> None:
    found = {(one["section"], one["key"]): one for one in told("settings")["settings"]}
    assert found["crawl", "delay"] == {
        "section": "crawl",
        "key": "delay",
        "value": 1.0,
        "source": "default",
    }


def test_of_a_crawl_and_its_store(told: Callable[..., Any], exported: Callable[..., Any]) -> None:
    with demo_site() as served:
        found = told(*crawl_words(served, "--max-pages", "30"))
    assert found["run"]["pages"] == 30
    assert found["job"]["settings"]["seeds"] == [SEED]
    status = told("status")
    assert {key: found[key] for key in status} == status
    assert status["program"]["compiled"] is is_compiled()
    found_on = {page["url"]: page["found_on"] for page in exported("pages")}
    assert found_on[SEED] is None
    assert sum(value is not None for value in found_on.values()) > 20
    assert {row["kind"] for row in exported("aliases")} >= {"redirect", "canonical"}
    assert {row["state"] for row in exported("refused")} == {"held"}
    assert len(exported("urls")) == sum(found["urls"].values())
    assert "policy" in {row["reason"] for row in exported("merges")}
    clusters = exported("clusters")
    assert {member["reason"] for row in clusters for member in row["members"]} >= {"redirect"}
    assert told("why", SEED)["state"] == "fetched"
    assert told("explain", SEED, "--store", "canonry.db")["store"]["state"] == "fetched"
    host = told("hosts", "list")["hosts"][0]["host"]
    assert told("hosts", "block", host)["held"] >= 0
    assert told("hosts", "unblock", host)["host"] == host
    pattern = told("patterns", "list")["patterns"][0]["pattern"]
    assert told("patterns", "exclude", pattern, "--dry-run")["pattern"] == pattern
    held = told("patterns", "exclude", pattern)["held"]
    assert told("patterns", "include", pattern)["released"] == held
    refused = [one for one in told("refused", "list")["reasons"] if one["can_be_released"]]
    released = told("refused", "release", refused[0]["reason"])
    assert released["released"] <= refused[0]["urls"]
    assert told("upgrade", "--policy", "web") == {
        "from": "web/1",
        "to": "web/1",
        "urls": None,
        "merged": 0,
        "split": 0,
        "continued": False,
        "dry_run": False,
        "apart": None,
        "merged_examples": [],
        "split_examples": [],
        "apart_examples": [],
    }
    foreseen = told("upgrade", "--policy", "search", "--dry-run")
    assert told("upgrade", "--policy", "search")["merged"] == foreseen["merged"]


def test_of_rules(told: Callable[..., Any], exported: Callable[..., Any]) -> None:
    store = ("--store", "rules.db")
    told("dedup", "urls.txt", *store)
    assert told("rules", "mine", "log.tsv", "-o", "mined.json", *store)["candidates"] == 1
    assert told("rules", "convert", "data.min.json", "-o", "rules.json")["made"] == 1
    imported = told("rules", "import", "rules.json", *store)
    assert imported == {
        "rules": 1,
        "active": 1,
        "held": 0,
        "were_withdrawn": 0,
        "were_active": 0,
        "released": 0,
    }
    listed = told("rules", "list", *store, "--all")["rules"]
    assert sorted(one["state"] for one in listed) == ["active", "candidate"]
    states = {row["id"]: row["state"] for row in exported("rules", *store)}
    assert states == {one["id"]: one["state"] for one in listed}
    [converted] = (one for one in listed if one["state"] == "active")
    shown = told("rules", "show", converted["id"], *store)
    assert {key: shown[key] for key in converted} == converted
    assert told("rules", "revoke", converted["id"], *store)["released"] == 0
    assert told("rules", "reinstate", converted["id"], *store)["state"] == "active"

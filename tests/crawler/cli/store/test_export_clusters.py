"""Exports of clusters and merges of real crawls: a rule is learned, revoked, and a site changes."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from support.servers import Answer, Raw, ok, raw_server
from support.sites import crawl_host, exported, from_thread, run_command

import canonry

SEED = "http://h.example/"
PAGES = 80


class Site:
    """Pages with two names each; the longer one redirects, until the site turns."""

    def __init__(self) -> None:
        self.turned = False  # from then on, a name with a slash is a page of its own

    def __call__(self, head: bytes) -> Answer:
        target = head.split(b" ")[1].decode()
        if target == "/robots.txt":
            return ok(b"", status="404 Not Found")
        body = f"<title>{target}</title>this is {target}"
        if target == "/":
            body = "".join(f'<a href="/list/{n}">' for n in range(PAGES // 20))
        elif target.startswith("/list/"):
            first = int(target[6:]) * 20
            ends = ("/", "", "?utm_source=x")
            names = (f"/docs/p{n}{end}" for n in range(first, first + 20) for end in ends)
            body = "".join(f'<a href="{name}">' for name in names)
        elif target.endswith("/") and not self.turned:
            return ok(b"", f"Location: {target[:-1]}", status="301 Moved Permanently")
        return ok(body.encode(), "Content-Type: text/html")


@pytest.fixture
def site() -> Iterator[tuple[Site, Raw]]:
    made = Site()
    with from_thread(raw_server(made)) as raw:
        yield made, raw


class Reader:
    """A reader of exports: an index of documents, and a cursor in a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.documents: dict[str, dict[str, Any]] = {}

    def follow(self) -> list[dict[str, Any]]:
        """Read what has changed, and return it."""
        rows = exported(self.folder, "clusters", "--cursor", "cursor")
        for row in rows:
            if row["action"] == "delete":
                self.documents.pop(row["id"], None)
            else:
                self.documents[row["id"]] = document(row)
        return rows

    @property
    def is_right(self) -> bool:
        """Return True if the index has what a full export has."""
        found = exported(self.folder, "clusters")
        return self.documents == {
            row["id"]: document(row) for row in found if row["action"] == "upsert"
        }


def document(row: dict[str, Any]) -> dict[str, Any]:
    members = [{**member, "last_seen": None} for member in row["members"]]
    return {**row, "last_seen": None, "left": [], "members": members}


def reasons(row: dict[str, Any]) -> list[str]:
    return [member["reason"] for member in row["members"]]


def test_an_index_follows_crawls_rules_and_their_end(
    tmp_path: Path, site: tuple[Site, Raw]
) -> None:
    served, raw = site
    reader = Reader(tmp_path)
    crawl_host(SEED, raw.port, tmp_path)
    rows = reader.follow()
    docs = [row for row in rows if "/docs/" in row["url"]]
    assert len(docs) == PAGES
    assert {reason for row in docs for reason in reasons(row)} == {"redirect", "rule"}
    assert all(row["id"] == canonry.key(row["url"]).hex() for row in rows)
    assert docs[0]["title"] == docs[0]["url"].removeprefix("http://h.example")
    [rule] = json.loads(run_command("rules", "list", "--json", folder=tmp_path).stdout)["rules"]
    by_rule = [m for row in docs for m in row["members"] if m["reason"] == "rule"]
    assert len(by_rule) > 20
    assert {tuple(member["rules"]) for member in by_rule} == {(rule["id"],)}
    assert reader.follow() == []

    served.turned = True
    assert run_command("rules", "revoke", rule["id"], folder=tmp_path).returncode == 0
    apart = reader.follow()
    assert {url for row in apart for url in row["left"]} == {m["url"] for m in by_rule}
    assert reader.is_right
    crawl_host(SEED, raw.port, tmp_path, "--config", "learn.enabled=false")
    new = reader.follow()
    assert {row["url"] for row in new} == {m["url"] for m in by_rule}
    assert reader.is_right

    served.turned = False
    crawl_host(
        SEED,
        raw.port,
        tmp_path,
        "--config",
        "learn.enabled=false",
        "--config",
        "crawl.recrawl_after=0",
    )
    gone = [row for row in reader.follow() if row["action"] == "delete"]
    assert {row["url"]: row["same_as"] for row in gone} == {
        m["url"]: m["url"].removesuffix("/") for m in by_rule
    }
    assert reader.is_right


def test_merges_have_their_rules_and_evidence(tmp_path: Path, site: tuple[Site, Raw]) -> None:
    _served, raw = site
    crawl_host(SEED, raw.port, tmp_path)
    found = exported(tmp_path, "merges")
    by_reason = {pair["reason"]: pair for pair in found}
    assert by_reason.keys() == {"redirect", "rule", "policy"}
    assert sum(pair["reason"] != "policy" for pair in found) == PAGES
    redirect, rule, policy = by_reason["redirect"], by_reason["rule"], by_reason["policy"]
    assert redirect["same_as"] == redirect["url"].removesuffix("/")
    assert redirect["status"] == 301
    assert rule["rules"][0] in rule["evidence"]
    assert "a path is the same without the slash behind it; active" in rule["evidence"]
    assert policy["rules"] == ["tracking"]
    assert policy["times"] == PAGES


def test_tables_have_members_within_rows(tmp_path: Path, site: tuple[Site, Raw]) -> None:
    _served, raw = site
    crawl_host(SEED, raw.port, tmp_path)
    plain = exported(tmp_path, "clusters")
    done = run_command("export", "clusters", "--format", "csv", folder=tmp_path)
    cells = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    assert [json.loads(row["members"]) for row in cells] == [row["members"] for row in plain]
    done = run_command("export", "clusters", "-o", "c.parquet", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    table = parquet.read_table(tmp_path / "c.parquet")
    assert str(table.schema.field("last_seen").type) == "timestamp[ms, tz=UTC]"
    assert str(table.schema.field("members").type.value_type.field("rules").type).startswith("list")
    names = [[member["url"] for member in row["members"]] for row in plain]
    assert [[m["url"] for m in members] for members in table["members"].to_pylist()] == names


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["pages", "--since", "start"], 2, "only clusters are exported by their changes"),
        (["clusters", "--since", "start", "--cursor", "x"], 2, "give one of them"),
        (["clusters", "--since", "lately"], 1, "give the cursor that an export printed"),
        (["clusters", "--since", "7-0123456789ab"], 1, "not of this store"),
        (["clusters", "--cursor", "."], 2, "this is a folder"),
    ],
)
def test_wrong_cursors_get_a_message(
    tmp_path: Path, words: list[str], code: int, says: str
) -> None:
    (tmp_path / "urls").write_bytes(b"http://a.example/1\n")
    run_command("dedup", "urls", "--store", "canonry.db", folder=tmp_path)
    done = run_command("export", *words, folder=tmp_path)
    assert done.returncode == code, done.stderr
    assert says in done.stderr.decode()


def test_an_export_that_cannot_be_noted_leaves_no_file(tmp_path: Path) -> None:
    """The cursor of a reader must never be of an export that the store does not know."""
    (tmp_path / "urls").write_bytes(b"http://a.example/1\n")
    run_command("dedup", "urls", "--store", "canonry.db", folder=tmp_path)
    words = ("export", "clusters", "--since", "start", "-o", "out.jsonl", "--store", "none.db")
    done = run_command(*words, folder=tmp_path)
    assert done.returncode == 1
    assert not (tmp_path / "out.jsonl").exists()
    done = run_command("export", "clusters", "--since", "start", folder=tmp_path)
    assert done.stdout == b""
    assert b"--since start" in done.stderr, "there is nothing yet"

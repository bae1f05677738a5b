"""Crawls that learn: rules suppress fetches, lose no page, and survive a killed process."""

import copy
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.servers import Answer, Raw, ok, raw_server
from support.sites import exported, from_thread, run_command, start, wait_for
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from canonry.canon.policies import preset
from canonry.storage import Store

SEED = "http://h.example/"
_PAGES = 160
_A_LIST = 20
_THERE = re.compile(r"/|/robots\.txt|/list/[0-9]+|/docs/p[0-9]+(?:/|\?ref=[0-9])?")


class Site:
    """Pages with three URLs each, listed twenty to a page; counts the requests."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.missed: list[str] = []  # what is not there, and was asked for
        self.missing = "404 Not Found"
        self.turned = False  # from then on a name with a slash is a page of its own
        self.turns_at = 1 << 30  # ... which happens after so many requests

    def links(self, number: int) -> list[str]:
        return [
            f"/docs/p{n}{end}"
            for n in range(number * _A_LIST, (number + 1) * _A_LIST)
            for end in ("/", "", f"?ref={n % 7}")
        ]

    def __call__(self, head: bytes) -> Answer:
        target = head.split(b" ")[1].decode()
        if not _THERE.fullmatch(target):
            self.missed.append(target)
            return ok(b"sorry", "Content-Type: text/html", status=self.missing)
        self.asked[target] += 1
        self.turned |= self.asked.total() > self.turns_at
        if target == "/robots.txt":
            return ok(b"", status="404 Not Found")
        body = f"this is {target.partition('?')[0]}"
        if target == "/":
            body = "".join(f'<a href="/list/{n}">' for n in range(_PAGES // _A_LIST))
        elif target.startswith("/list/"):
            body = "".join(f'<a href="{link}">' for link in self.links(int(target[6:])))
        elif target.endswith("/") and not self.turned:
            return ok(b"", f"Location: {target[:-1]}", status="301 Moved Permanently")
        return ok(body.encode(), "Content-Type: text/html")

    @property
    def pages(self) -> set[str]:
        """Return the pages that were requested by any of their URLs."""
        return {path.partition("?")[0].rstrip("/") for path in self.asked if "/docs/" in path}


@contextmanager
def served(site: Callable[[bytes], Answer]) -> Iterator[Raw]:
    """Serve a site in a thread."""
    with from_thread(raw_server(site)) as raw:
        yield raw


def words(raw: Raw, *more: str) -> list[str]:
    connect = f"::127.0.0.1:{raw.port}"
    return ["crawl", SEED, "--connect-to", connect, "--delay", "0", "--concurrency", "8", *more]


def make_store(folder: Path) -> None:
    """Create an empty store where commands expect it by default."""
    policy = preset("web")
    url = f"sqlite:///{folder / 'canonry.db'}"
    Store(url, policy=policy.label, fingerprint=policy.fingerprint).close()


def everything() -> set[str]:
    return {f"/docs/p{n}" for n in range(_PAGES)}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Site, str]:
    """Return the folder of a crawl that has learned, its site, and what it has told."""
    site, folder = Site(), tmp_path_factory.mktemp("learned")
    with served(site) as raw:
        done = run_command(*words(raw), folder=folder)
        assert done.returncode == 0, done.stderr
    return folder, site, done.stderr.decode()


@pytest.fixture
def learned(crawled: tuple[Path, Site, str], tmp_path: Path) -> Site:
    """Copy the store of that crawl into the folder of a test, and return the site."""
    shutil.copytree(crawled[0], tmp_path, dirs_exist_ok=True)
    return copy.deepcopy(crawled[1])


def test_a_crawl_learns_suppresses_fetches_and_gives_reasons(
    tmp_path: Path, learned: Site, crawled: tuple[Path, Site, str]
) -> None:
    site, said = learned, crawled[2]
    assert site.pages == everything()
    assert max(site.asked.values()) == 1
    assert site.missed == []
    asked = site.asked.total()
    assert asked < 0.6 * 3 * _PAGES, asked
    assert "is active (was candidate): h.example: a path is the same without the slash" in said
    assert "is active (was candidate): h.example: parameter ref selects nothing" in said
    status = json.loads(run_command("status", "--json", folder=tmp_path).stdout)
    suppressed = status["held"]["learned"]
    assert suppressed + asked == 3 * _PAGES + _PAGES // _A_LIST + 2, (
        "every URL is either fetched or held"
    )
    rules = json.loads(run_command("rules", "list", "--json", folder=tmp_path).stdout)["rules"]
    acting = {rule["family"]: rule for rule in rules if rule["state"] == "active"}
    assert acting.keys() == {"trailing-slash", "parameter-anywhere"}
    assert sum(rule["suppressed"] for rule in acting.values()) >= suppressed
    assert all(rule["evidence"]["disagree"] == 0 for rule in acting.values())
    assert all(len(rule["evidence"]["samples"]) == 5 for rule in acting.values())
    held = [row for row in exported(tmp_path, "refused") if row["reason"] == "learned"]
    edges = {row["url"]: row for row in exported(tmp_path, "aliases") if row["kind"] == "rule"}
    assert {row["url"] for row in held} == edges.keys()
    for url, edge in edges.items():
        assert url.partition("?")[0].rstrip("/") == edge["representative"].partition("?")[0]


def test_a_site_with_an_address_and_a_port_learns_like_others(tmp_path: Path) -> None:
    """Newcomers start on such a site."""
    site = Site()
    with served(site) as raw:
        seed = f"http://127.0.0.1:{raw.port}/"
        settings = ("--allow-private", "--delay", "0", "--concurrency", "8")
        done = run_command("crawl", seed, *settings, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    assert site.pages == everything()
    asked = site.asked.total()
    assert asked < 0.6 * 3 * _PAGES, asked
    there = f"127.0.0.1:{raw.port}"
    for host in ("127.0.0.1", there):
        listed = run_command("rules", "list", "--host", host, "--json", folder=tmp_path)
        rules = [rule for rule in json.loads(listed.stdout)["rules"] if rule["state"] == "active"]
        assert {(rule["host"], rule["family"]) for rule in rules} == {
            (there, "trailing-slash"),
            (there, "parameter-anywhere"),
        }
    with_store = ("--store", "sqlite:///canonry.db")
    done = run_command("canon", *with_store, f"{seed}docs/p7/?ref=3", folder=tmp_path)
    assert done.stdout.decode().split("\t")[0].strip() == f"{seed}docs/p7"


@pytest.mark.parametrize("one_is_plain", [True, False])
def test_session_ids_in_paths_are_learned(tmp_path: Path, one_is_plain: bool) -> None:
    """Each link of a page has an identifier of its own, as links have without cookies."""
    seen: Counter[str] = Counter()
    fresh = random.Random(3)

    def link(number: int, plain: bool) -> str:
        session = "" if plain else f";sid={fresh.getrandbits(64):016x}"
        return f'<a href="/docs/p{number}{session}">'

    def answer(head: bytes) -> Answer:
        target = head.split(b" ")[1].decode()
        page = target.partition(";")[0]
        if target == "/":
            body = "".join(f'<a href="/list/{n}">' for n in range(_PAGES // _A_LIST))
        elif page.startswith("/list/"):
            first = int(page[6:]) * _A_LIST
            numbers = range(first, first + _A_LIST)
            body = "".join(
                link(n, plain) for n in numbers for plain in (False, one_is_plain, False)
            )
        elif page.startswith("/docs/p"):
            seen[target] += 1
            body = f"this is {page}"
        else:
            return ok(b"sorry", status="404 Not Found")
        return ok(body.encode(), "Content-Type: text/html")

    with served(answer) as raw:
        assert run_command(*words(raw), folder=tmp_path).returncode == 0
    assert {url.partition(";")[0] for url in seen} == everything()
    assert seen.total() < 2 * _PAGES, seen.total()
    rules = json.loads(run_command("rules", "list", "--json", folder=tmp_path).stdout)["rules"]
    active = [rule for rule in rules if rule["state"] == "active"]
    assert {(rule["family"], rule["old"]) for rule in active} == {("path-parameter", "sid")}


def test_a_host_that_answers_everything_with_one_body_gives_no_evidence(tmp_path: Path) -> None:
    """All pages have the body of a missing page: no parameter is learned from that."""

    class Alike(Site):
        def __call__(self, head: bytes) -> Answer:
            super().__call__(head)
            target = head.split(b" ")[1].decode()
            if target.startswith("/docs/"):
                return ok(b"sorry", "Content-Type: text/html")
            return super().__call__(head)

    site = Alike()
    with served(site) as raw:
        assert run_command(*words(raw), folder=tmp_path).returncode == 0
    listed = run_command("rules", "list", "--state", "candidate", "--json", folder=tmp_path)
    assert all(rule["evidence"]["agree"] <= 1 for rule in json.loads(listed.stdout)["rules"])
    assert json.loads(run_command("rules", "list", "--json", folder=tmp_path).stdout)["rules"] == []


def test_nothing_is_learned_if_learning_is_off(tmp_path: Path) -> None:
    site = Site()
    with served(site) as raw:
        assert (
            run_command(*words(raw, "--config", "learn.enabled=false"), folder=tmp_path).returncode
            == 0
        )
    assert site.asked.total() == 3 * _PAGES + _PAGES // _A_LIST + 2
    assert json.loads(run_command("rules", "list", "--json", folder=tmp_path).stdout)["rules"] == []


def test_a_fault_of_learning_ends_the_learning_but_not_the_crawl(tmp_path: Path) -> None:
    """The fault is planted in a process of its own, in the middle of a transaction."""
    fault = (
        "import canonry.crawler.learn.session as s\n"
        "def decide(site): raise KeyError('planted')\n"
        "s.decide = decide\n"
        "from canonry.crawler.cli.commands import main\n"
        "main()\n"
    )
    site = Site()
    with served(site) as raw:
        done = subprocess.run(
            [sys.executable, "-c", fault, *words(raw), "--json"],
            cwd=tmp_path,
            capture_output=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(b"Learning failed and is switched off for this run") == 1
    assert b"planted" in done.stderr
    assert json.loads(done.stdout)["run"]["learning_failed"] == 1
    assert done.stderr.splitlines()[-1].startswith(b"canonry: learning failed in this run")
    assert site.pages == everything()
    assert max(site.asked.values()) == 1


@pytest.mark.parametrize("turns_at", [90, 150])
def test_a_site_that_changes_has_its_rule_revoked_and_loses_nothing(
    tmp_path: Path, turns_at: int
) -> None:
    """URLs that the rule held, and that are pages of their own now, are all fetched."""
    site = Site()
    site.turns_at = turns_at
    with served(site) as raw:
        done = run_command(*words(raw), folder=tmp_path)
        assert done.returncode == 0, done.stderr
    said = done.stderr.decode()
    is_revoked = r"is revoked \(was \w+\): h.example: a path is the same without the slash"
    assert re.search(is_revoked, said)
    assert re.search(r"\b[1-9][0-9]* held URLs released", said)
    assert site.pages == everything()
    assert {f"/docs/p{n}/" for n in range(_PAGES)} <= site.asked.keys()


def test_revoking_a_rule_releases_what_it_held(tmp_path: Path, learned: Site) -> None:
    site = learned
    with served(site) as raw:
        listed = json.loads(run_command("rules", "list", "--json", folder=tmp_path).stdout)["rules"]
        assert listed
        for rule in listed:
            done = run_command("rules", "revoke", rule["id"][:7], folder=tmp_path)
            assert done.returncode == 0, done.stderr
        status = json.loads(run_command("status", "--json", folder=tmp_path).stdout)
        assert "learned" not in {reason for reason, count in status["held"].items() if count}
        assert status["urls"]["queued"] > _PAGES
        assert run_command(*words(raw), folder=tmp_path).returncode == 0
    assert site.asked.total() - site.asked["/robots.txt"] == 3 * _PAGES + _PAGES // _A_LIST + 1
    assert max(site.asked.values()) == 1


@pytest.mark.usefixtures("learned")
def test_rules_of_one_crawl_suppress_fetches_of_another(tmp_path: Path) -> None:
    first, second = tmp_path, tmp_path / "second"
    second.mkdir()
    done = run_command("rules", "export", "-o", "rules.json", folder=first)
    assert done.returncode == 0, done.stderr
    rules = str(first / "rules.json")
    one, other = f"{SEED}docs/p1?ref=1", f"{SEED}docs/p1/"
    done = run_command("canon", "--rules", rules, one, other, folder=second)
    assert done.stdout.splitlines() == [f"{SEED}docs/p1".encode()] * 2
    lines = f"{one}\n{other}\n{SEED}docs/p2\n".encode()
    done = run_command(
        "dedup", "-", "--rules", rules, "--map", "map.tsv", folder=second, data=lines
    )
    assert done.stdout.splitlines() == [one.encode(), f"{SEED}docs/p2".encode()]
    assert b"learned-trailing-slash" in (second / "map.tsv").read_bytes()
    done = run_command("explain", "--rules", rules, "--json", other, folder=second)
    [step] = json.loads(done.stdout)["steps"]
    assert step["name"] == "learned-trailing-slash"
    assert "pages agree, 0 disagree" in step["why"]

    site = Site()
    with served(site) as raw:
        run_command(*words(raw, "--max-pages", "1"), folder=second)
        done = run_command("rules", "import", rules, folder=second)
        assert done.returncode == 0, done.stderr
        run_command(*words(raw), folder=second)
    assert site.pages == everything()
    assert site.asked.total() < 1.25 * _PAGES


@pytest.mark.usefixtures("learned")
def test_a_look_up_in_a_store_follows_aliases_and_rules(tmp_path: Path) -> None:
    store = ["--store", "sqlite:///canonry.db"]
    redirected = next(row for row in exported(tmp_path, "aliases") if row["kind"] == "redirect")
    unseen = f"{SEED}docs/unseen/?ref=3"
    done = run_command("canon", *store, redirected["url"], unseen, "no url", folder=tmp_path)
    assert done.returncode == 1
    assert done.stdout.decode().splitlines() == [redirected["same_as"], f"{SEED}docs/unseen", ""]
    done = run_command("explain", *store, "--json", redirected["url"], folder=tmp_path)
    trace = json.loads(done.stdout)
    assert trace["identity"] == redirected["same_as"]
    assert [step["name"] for step in trace["steps"]] == ["learned-trailing-slash"]
    held = next(row["url"] for row in exported(tmp_path, "refused") if "?" in row["url"])
    trace = json.loads(run_command("explain", *store, "--json", held, folder=tmp_path).stdout)
    assert [step["name"] for step in trace["steps"]] == ["learned-parameter-anywhere"]
    assert "pages agree" in trace["steps"][0]["why"]
    wrong = run_command("canon", *store, "--policy", "search", SEED, folder=tmp_path)
    assert wrong.returncode == 1
    assert b"give --policy web" in wrong.stderr
    both = run_command("canon", *store, "--rules", "x", SEED, folder=tmp_path)
    assert both.returncode == 2
    # and so does a list that is deduplicated against it
    lines = [redirected["url"], held, unseen, f"{SEED}docs/unseen", f"{SEED}docs/p1#x", unseen]
    data = "\n".join(lines).encode()
    done = run_command("dedup", "-", *store, "--map", "map.tsv", folder=tmp_path, data=data)
    assert done.stdout.decode().splitlines() == [unseen]
    fates = [line.split("\t") for line in (tmp_path / "map.tsv").read_text().splitlines()]
    representative = redirected["representative"]
    assert fates[0] == [redirected["url"], representative, "alias-redirect", "-", "1"]
    assert fates[1][2] == "learned-parameter-anywhere"
    both_rules = "learned-trailing-slash + learned-parameter-anywhere"
    assert fates[2] == [unseen, unseen, "first", "-", "3"]
    assert fates[3] == [lines[3], unseen, both_rules, "-", "4"]
    assert fates[5][1:] == [unseen, "repeated", "-", "6"]
    status = json.loads(run_command("status", "--json", folder=tmp_path).stdout)
    assert status["urls"]["queued"] == 1, "one of the two that were new"
    revoked = [rule["id"] for rule in exported(tmp_path, "rules") if rule["state"] == "active"]
    for name in revoked:
        assert run_command("rules", "revoke", name, *store, folder=tmp_path).returncode == 0
    urls = {row["url"]: row["state"] for row in exported(tmp_path, "urls")}
    assert urls[unseen] == urls[f"{SEED}docs/unseen"] == "queued", "nothing is lost with a rule"


def test_a_look_up_follows_aliases_without_any_rule(tmp_path: Path) -> None:
    def answer(head: bytes) -> Answer:
        target = head.split(b" ")[1].decode()
        if target == "/":
            return ok(b'<a href="/old-name">', "Content-Type: text/html")
        if target == "/old-name":
            return ok(b"", "Location: /new-name", status="308 Permanent Redirect")
        return ok(b"here", status="200 OK" if target == "/new-name" else "404 Not Found")

    with served(answer) as raw:
        run_command(*words(raw), folder=tmp_path)
    given = ["--store", "sqlite:///canonry.db", f"{SEED}old-name?utm_source=x"]
    assert run_command("canon", *given, folder=tmp_path).stdout.decode() == f"{SEED}new-name\n"
    trace = json.loads(run_command("explain", *given, "--json", folder=tmp_path).stdout)
    assert [step["name"] for step in trace["steps"]] == ["tracking", "alias-redirect"]
    assert trace["steps"][1]["before"] == f"{SEED}old-name"
    assert trace["identity"] == f"{SEED}new-name"
    assert "HTTP status 308" in trace["steps"][1]["why"]
    text = run_command("explain", *given, folder=tmp_path).stdout.decode()
    assert "Seen once, last on 20" in text


_KILLS = max(2, int(os.environ.get("CANONRY_TEST_KILLS", "12")) // 3)


@pytest.mark.parametrize("turns_at", [1 << 30, 150])
def test_a_crawl_killed_while_it_learns_is_right_after_resuming(
    tmp_path: Path, turns_at: int
) -> None:
    """Killed at random moments, also while a rule is activated or revoked."""
    site = Site()
    site.turns_at = turns_at
    rng = random.Random(turns_at)
    with served(site) as raw:
        for _ in range(_KILLS):
            before = site.asked.total()
            crawl = start(tmp_path, *words(raw))
            moment = before + rng.randrange(1, 60)
            wait_for(
                lambda crawl=crawl, moment=moment: (
                    crawl.poll() is not None or site.asked.total() >= moment
                )
            )  # type: ignore[misc]
            crawl.send_signal(signal.SIGKILL)
            crawl.communicate()
        done = run_command(*words(raw), folder=tmp_path)
        assert done.returncode == 0, done.stderr
    assert site.pages == everything()
    again = sum(count - 1 for path, count in site.asked.items() if path != "/robots.txt")
    assert again <= _KILLS * 8 + 10, "what was in flight, and a few that are asked again"
    if turns_at < 1000:
        held = {row["url"] for row in exported(tmp_path, "refused")}
        lost = {f"{SEED}docs/p{n}/" for n in range(_PAGES)} - held
        assert {url.removeprefix(SEED[:-1]) for url in lost} <= site.asked.keys()
    status = json.loads(run_command("status", "--json", folder=tmp_path).stdout)
    assert status["urls"]["queued"] == 0


def test_two_workers_share_what_they_learn(tmp_path: Path) -> None:
    site = Site()
    with served(site) as raw:
        crawls = [start(tmp_path, *words(raw)) for _ in range(2)]
        for crawl in crawls:
            _, said = crawl.communicate(timeout=100)
            assert crawl.returncode == 0, said
    assert site.pages == everything()
    assert max(count for path, count in site.asked.items() if path != "/robots.txt") == 1


def test_mining_a_log(tmp_path: Path) -> None:
    moved = [f"{SEED}a/p{n},https://h.example/a/p{n},301" for n in range(30)]
    other = [f"{SEED}x{n},{SEED},301" for n in range(3)] + [f"{SEED}gone,,410", "x,y://z,301"]
    cdx = [
        f"example,o)/{n} 20240101000000 http://o.example/{n} text/html 301 AAAA"
        f" http://o.example/{n}/ - 1 2 f.warc.gz"
        for n in range(30)
    ]
    cdxj = [
        f'example,w)/{n} 20240101000000 {{"url": "http://w.example/{n}", "status": "308", '
        f'"redirect": "http://www.w.example/{n}"}}'
        for n in range(30)
    ]
    (tmp_path / "log.csv").write_text("old,new,status\n" + "\n".join([*moved, *other]))
    (tmp_path / "log.cdx").write_text(" CDX N b a m s k r M S V g\n" + "\n".join([*cdx, *cdxj]))
    files = ["log.csv", "log.cdx"]
    done = run_command("rules", "mine", *files, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["rules"]
    assert {(rule["host"], rule["family"], rule["state"]) for rule in found} == {
        ("h.example", "scheme-upgrade", "active"),
        ("o.example", "trailing-slash", "active"),
        ("w.example", "www", "active"),
    }
    [upgrade] = [rule for rule in found if rule["host"] == "h.example" and "below" not in rule]
    assert upgrade["evidence"]["agree"] == 30
    assert b"93 permanent redirects" in done.stderr
    make_store(tmp_path)
    run_command("rules", "mine", *files, "--store", "sqlite:///canonry.db", folder=tmp_path)
    listed = run_command("rules", "list", "--state", "candidate", "--json", folder=tmp_path)
    assert len(json.loads(listed.stdout)["rules"]) == len(found)


# warcio's writer leaves it to the collector to close its temporary files.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("packed", [True, False])
def test_mining_a_warc(tmp_path: Path, *, packed: bool) -> None:
    with (tmp_path / "crawl.warc").open("wb") as file:
        writer = WARCWriter(file, gzip=packed)
        for n in range(30):
            url, to = f"{SEED}a/p{n}", ("Location", f"/a/p{n}/")
            for status, headers in (("301 Moved", [to]), ("200 OK", [])):
                said = StatusAndHeaders(status, headers, protocol="HTTP/1.1")
                record = writer.create_warc_record(
                    url, "response", payload=io.BytesIO(b"x"), http_headers=said
                )
                writer.write_record(record)
    done = run_command("rules", "mine", "crawl.warc", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)  # nothing contradicts the rule, so it needs none for its part
    counts = {"redirects": 30, "pages": 30, "other_lines": 0, "active": 1, "candidates": 0}
    assert found == {**counts, "refused": {}}
    whole = (tmp_path / "crawl.warc").read_bytes()
    (tmp_path / "cut.warc").write_bytes(whole[: len(whole) * 3 // 4])
    done = run_command("rules", "mine", "cut.warc", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 15 < json.loads(done.stdout)["redirects"] < 30


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        (["rules", "show", "abc"], 1, "there is no such rule; 'canonry rules list'"),
        (["rules", "revoke", ""], 1, "there is no such rule"),
        (["rules", "import", "none.json"], 2, "give a file that can be read"),
        (
            ["rules", "import", "wide.json"],
            2,
            "is a public suffix, so its subdomains have different owners",
        ),
        (["rules", "import", "search.json"], 2, "learned under policy search@1, not web@1"),
        (["canon", "--rules", "wide.json", SEED], 2, "co.uk is a public suffix"),
        (["dedup", "-", "--rules", "a.json", "--store", "sqlite:///x.db"], 2, "rules import FILE"),
        (["rules", "list", "--store", "sqlite:///none.db"], 1, "there is no store none.db"),
    ],
)
def test_errors_are_reported(tmp_path: Path, command: list[str], code: int, says: str) -> None:
    make_store(tmp_path)
    for name, policy, host in (("wide", "web/1", "co.uk"), ("search", "search/1", "h.example")):
        rule = {"host": host, "family": "scheme-upgrade", "subdomains": True}
        whole = {"format": "canonry-rules", "version": 1, "policy": policy, "rules": [rule]}
        (tmp_path / f"{name}.json").write_text(json.dumps(whole))
    done = run_command(*command, folder=tmp_path, data=b"")
    assert done.returncode == code
    assert says in done.stderr.decode().replace("\n", " ")

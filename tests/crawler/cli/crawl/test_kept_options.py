"""What a resumed crawl keeps of the one before: the options of its command line, and its seeds."""

import json
import signal
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from support.crawls import page, target_of
from support.servers import Raw, raw_server
from support.sites import from_thread, start, wait_for

from canonry.crawler.cli.commands import main

SECRET = "s3cret"  # noqa: S105 - what has to disappear
SEED = "http://a.example/"
NO_LEARNING = ("--config", "learn.enabled=false")
LINKS = [f"/{n}" for n in range(60)]
_LAST = "SELECT settings FROM jobs ORDER BY id DESC LIMIT 1"
# Options that are about one run, or name what the others are about.
OF_ONE_RUN = {
    *("store", "seeds", "serve", "token", "json", "quiet", "verbose"),
}


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Raw]:
    """Serve a page with many links for every URL; the test runs in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    pages = {"/": page(*LINKS, "/x/private", "http://www.a.example/")}
    with from_thread(raw_server(lambda head: pages.get(target_of(head), page()))) as server:
        yield server


def crawl(*words: str, code: int = 0) -> Result:
    """Run the command ``crawl`` on the store of the test; it ends with this code."""
    done = CliRunner().invoke(main, ["crawl", *words, "--store", "s.db"])
    assert done.exit_code == code, done.output
    return done


def begin(raw: Raw, *words: str) -> None:
    """Begin a crawl whose queue is not empty at its end."""
    crawl(SEED, *reaching(raw), "--max-pages", "2", *words)


def reaching(raw: Raw) -> list[str]:
    """Return the options of a crawl of the server, without a delay."""
    return ["--connect-to", f"::127.0.0.1:{raw.port}", "--delay", "0"]


def last_job() -> dict[str, Any]:
    """Return the job of the last crawl."""
    done = CliRunner().invoke(main, ["status", "--json", "--store", "s.db"])
    found: dict[str, Any] = json.loads(done.stdout)["job"]["settings"]
    return found


def test_a_resumed_crawl_keeps_what_was_typed_and_says_so(raw: Raw) -> None:
    begin(raw, "--scope", "domain", "--exclude", "*/x/*", "--exclude", "/it's", *NO_LEARNING)
    done = crawl(SEED, "--max-pages", "5", "--json")
    typed = "--config learn.enabled=false --delay 0 --scope domain --exclude '*/x/*' --exclude "
    told = f"{typed}'/it'\"'\"'s' --connect-to ::127"
    assert f"As in the crawl that this one resumes: {told}" in done.stderr
    assert "--max-pages 2" not in done.stderr
    found = json.loads(done.stdout)
    assert found["kept_options"] == {
        "learn.enabled": False,
        "crawl.delay": 0.0,
        "crawl.scope": "domain",
        "crawl.exclude": ["*/x/*", "/it's"],
        "fetch.connect_to": [f"::127.0.0.1:{raw.port}"],
    }
    assert found["urls"]["fetched"] == 5
    again = crawl("--max-pages", "0", "--json")
    assert "learn.enabled=false" in again.stderr, (
        "options are kept however often a crawl is resumed"
    )
    found = json.loads(again.stdout)
    assert (found["urls"]["queued"], found["held"]) == (0, {"excluded": 2}), "on two hosts"
    assert {target_of(head) for head in raw.heads} == {"/", "/robots.txt", *LINKS}
    assert json.loads(crawl(SEED, "--json").stdout)["kept_options"] == {}, "none is resumed"


def test_an_option_given_now_and_one_that_was_typed_go_before_variables_and_files(
    raw: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("c.toml").write_text("[crawl]\nscope = 'any'\nconcurrency = 7\nmax_depth = 9\n")
    begin(raw, "--scope", "domain", "--concurrency", "3", "--config", "c.toml")
    monkeypatch.setenv("CANONRY_CRAWL_SCOPE", "prefix")
    monkeypatch.setenv("CANONRY_CRAWL_CONCURRENCY", "8")
    monkeypatch.setenv("CANONRY_CRAWL_PURPOSE", "tdm")
    crawl(SEED, "--concurrency", "4", "--max-pages", "4")
    settings = last_job()["settings"]["crawl"]
    assert (settings["scope"], settings["concurrency"]) == ("domain", 4)
    assert (settings["max_depth"], settings["purpose"]) == (9, ["tdm"]), "the file is read again"
    Path("c.toml").write_text("[crawl]\nmax_depth = 8\n")
    crawl(SEED)
    assert last_job()["settings"]["crawl"]["max_depth"] == 8


def test_options_can_be_dropped(raw: Raw) -> None:
    begin(raw, "--scope", "domain", "--allow-private", "--json")
    done = crawl(SEED, "--no-allow-private", "--max-depth", "3")
    assert "As in the crawl that this one resumes: --delay 0 --scope domain --conn" in done.stderr
    for absent in ("--allow-private", "--json", "--store"):
        assert absent not in done.stderr
    assert last_job()["options"]["fetch.allow_private"] is False
    to = [*reaching(raw), "--max-pages", "3"]
    done = crawl(SEED, *to, "--config", "crawl.keep_options=false")
    assert "As in the crawl" not in done.stderr
    assert set(last_job()["options"]) == {"fetch.connect_to", "crawl.delay", "crawl.max_pages"}


def test_a_limit_of_pages_is_kept_until_it_is_reached(raw: Raw) -> None:
    begin(raw)
    done = crawl("--max-pages", "3")
    assert "was reached" not in done.stderr
    Path("c.toml").write_text("[crawl]\nmax_pages = 4\n")
    crawl("--max-pages", "50", "--config", "c.toml")
    with sqlite3.connect("s.db") as connection:  # as if it had been killed before
        job = json.loads(connection.execute(_LAST).fetchone()[0])
        job["options"]["crawl.max_pages"] = 55
        connection.execute("UPDATE jobs SET settings = ?", [json.dumps(job)])
    done = crawl("--json")
    assert json.loads(done.stdout)["kept_options"]["crawl.max_pages"] == 55
    assert json.loads(done.stdout)["urls"]["fetched"] == 55
    done = crawl("--json", "--config", "c.toml")
    assert json.loads(done.stdout)["urls"]["fetched"] == 55, "the file's limit holds"
    assert "--max-pages 55 was reached, so this crawl goes on without.\n" in done.stderr


def test_no_secret_among_settings_is_kept(raw: Raw) -> None:
    proxy = f"fetch.proxy=u:{SECRET}@127.0.0.1:{raw.port}"
    for secret, option in ((f"fetch.headers=X-Team: {SECRET}", "--header"), (proxy, "--proxy")):
        begin(raw, "--config", "crawl.max_hops=3", "--config", secret)
        assert last_job()["options"][secret.partition("=")[0]] is None
        done = crawl(SEED, "--max-pages", "3")
        assert f"these options of then are not kept: {option}" in done.stderr
        assert "As in the crawl that this one resumes: --config crawl.max_hops=3" in done.stderr
        stored = b"".join(path.read_bytes() for path in Path().glob("s.db*"))
        assert SECRET.encode() not in stored
        for path in Path().glob("s.db*"):
            path.unlink()
    begin(raw, "--config", "crawl.max_hops=3", "--config", "fetch.timeout=9")
    options = last_job()["options"]
    assert (options["crawl.max_hops"], options["fetch.timeout"]) == (3, 9)
    crawl(SEED, "--max-pages", "3")
    settings = last_job()["settings"]
    assert (settings["crawl"]["max_hops"], settings["fetch"]["timeout"]) == (3, 9.0)


def test_no_secret_is_kept_and_what_is_missing_is_said(raw: Raw) -> None:
    Path("jar").write_text(f"a.example\tFALSE\t/\tFALSE\t0\tsid\t{SECRET}\n")
    secret = ["--header", f"X-Team: {SECRET}", "--include", f"http://u:{SECRET}@a.example/*"]
    secret += ["--include", "*", "--proxy", f"u:{SECRET}@127.0.0.1:{raw.port}"]
    begin(raw, *secret, "--cookies", "jar", "--contact", "me@a.example")
    stored = b"".join(file.read_bytes() for file in Path.cwd().glob("s.db*"))
    assert SECRET.encode() not in stored
    done = crawl(SEED, "--proxy", "none")
    assert "are not kept: --include, --header; give again" in done.stderr
    for kept in ("--cookies jar", "--contact me@a.example"):
        assert kept in done.stderr
    assert SECRET not in done.output
    assert "give again" not in crawl(SEED).stderr, "the crawl that this one resumes had none"


def test_an_earlier_version_kept_nothing(raw: Raw) -> None:
    begin(raw, "--scope", "domain")
    with sqlite3.connect("s.db") as connection:
        job = json.loads(connection.execute(_LAST).fetchone()[0])
        del job["options"]
        connection.execute("UPDATE jobs SET settings = ?", [json.dumps(job)])
    to = [*reaching(raw), "--max-pages", "3"]
    assert "As in the crawl" not in crawl(SEED, *to).stderr
    assert last_job()["settings"]["crawl"]["scope"] == "host"


def test_without_a_seed_the_seeds_are_those_of_the_store(raw: Raw) -> None:
    Path("list.txt").write_text("http://b.example/\nhttp://c.example/\n")
    assert "Missing argument 'SEED'" in crawl(code=2).stderr, "there is no store"
    assert not Path("s.db").exists()
    begin(raw)
    assert f"Resuming the crawl of {SEED}.\n" in crawl("--max-pages", "4").stderr
    assert last_job()["seeds"] == [SEED]
    crawl("--max-pages", "5", "--seeds", "list.txt")
    done = crawl("--max-pages", "0")
    assert f"Resuming the crawl of {SEED} and 2 more seeds.\n" in done.stderr
    heads = [head.decode() for head in raw.heads]
    hosts = {line for head in heads for line in head.split("\r\n") if line.startswith("Host: ")}
    assert hosts == {"Host: a.example", "Host: b.example", "Host: c.example"}
    said = " ".join(crawl(code=2).stderr.split())
    assert "No URL is queued in s.db: give a SEED to crawl further, or --rec" in said


def test_a_finished_crawl_is_made_again_without_its_seed(raw: Raw) -> None:
    begin(raw)
    crawl("--max-pages", "0")
    done = crawl("--config", "crawl.recrawl_after=0", *reaching(raw))
    assert f"Crawling again from {SEED}.\n" in done.stderr
    assert "options of it are not kept: --max-pages 0. Give again" in done.stderr
    assert "As in the crawl" not in done.stderr
    assert set(last_job()["options"]) == {"fetch.connect_to", "crawl.delay", "crawl.recrawl_after"}


@pytest.mark.parametrize("source", ["file", "variable"])
def test_a_finished_crawl_is_made_again_as_the_file_or_a_variable_says(
    raw: Raw, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    Path("c.toml").write_text("[crawl]\nrecrawl_after = '0'\n" if source == "file" else "")
    begin(raw)
    crawl("--max-pages", "0")
    if source == "variable":
        monkeypatch.setenv("CANONRY_CRAWL_RECRAWL", "true")
    assert f"again from {SEED}.\n" in crawl("--config", "c.toml", *reaching(raw)).stderr
    if source == "variable":
        assert "No URL is queued" in crawl("--no-recrawl", code=2).stderr


def test_of_two_ways_to_fetch_again_the_one_that_is_given_now_counts(raw: Raw) -> None:
    begin(raw, "--recrawl")
    pages = len(raw.heads)
    done = crawl("--config", "crawl.recrawl_after=0", "--max-pages", "0")
    assert "what is fetched again: --recrawl.\n" in done.stderr
    assert "--recrawl " not in done.stderr.partition("As in the crawl")[2].partition("\n")[0]
    again = Counter(target_of(head) for head in raw.heads[pages:])
    assert again["/"] == 1, "the pages of the crawl before, too"
    begin(raw, "--recrawl")
    done = crawl(
        "--recrawl", "--config", "crawl.recrawl_after=0", "--max-pages", "0", *reaching(raw)
    )
    assert "crawl.recrawl_after=0 is only for pages about which nothing is known" in done.stderr


def test_a_seed_with_a_password_is_resumed_with_it(raw: Raw) -> None:
    to = [*reaching(raw), "--max-pages", "2"]
    crawl(f"http://u:{SECRET}@a.example/", *to)
    done = crawl("--max-pages", "3")
    assert "Resuming the crawl of http://u:***@a.example/.\n" in done.stderr
    assert json.loads(CliRunner().invoke(main, ["status", "--json", "--store", "s.db"]).stdout)[
        "held"
    ] == {"out-of-scope": 1}, "the host of the seed is in scope"


@pytest.mark.parametrize(("number", "workers"), [(signal.SIGINT, "1"), (signal.SIGKILL, "2")])
def test_a_crawl_that_was_stopped_is_resumed_as_it_was_begun(
    raw: Raw, number: signal.Signals, workers: str
) -> None:
    words = [
        "--connect-to",
        f"::127.0.0.1:{raw.port}",
        "--delay",
        "0.1",
        "--config",
        f"crawl.workers={workers}",
    ]
    run = ["crawl", SEED, *words, "--store", "s.db", "--exclude", "*/x/*"]
    process = start(Path.cwd(), *run)
    wait_for(lambda: len(raw.heads) > 5)
    process.send_signal(number)
    process.communicate()
    done = crawl("--delay", "0", "--config", "crawl.workers=1", "--json")
    assert "As in the crawl that this one resumes: --exclude '*/x/*' --connect-to" in done.stderr
    found = json.loads(done.stdout)
    assert (found["urls"]["fetched"], found["urls"]["queued"]) == (1 + len(LINKS), 0)
    assert found["held"] == {"excluded": 1, "out-of-scope": 1}

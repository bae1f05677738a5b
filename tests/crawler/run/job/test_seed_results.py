"""Seeds that gave no page: the cause, the last words, the exit code, and the next run."""

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.crawls import page, target_of
from support.servers import Answer, ok, raw_server
from support.tables import each

from canonry.crawler.cli.commands import main
from canonry.crawler.cli.terminal import last_words
from canonry.crawler.observe.progress import Progress
from canonry.crawler.run import wiring
from canonry.crawler.run.job.seed_results import FailedSeed
from canonry.crawler.settings import load
from canonry.storage.reading import report

SEED = "http://a.example/"
DEAD = "::127.0.0.1:9"  # nothing listens there


def crawl(
    folder: Path, answer: Callable[[bytes], Answer] | None, *seeds: str, **crawl_keys: object
) -> wiring.CrawlResult:
    """Crawl a raw server; None is a server that refuses connections."""

    async def run() -> wiring.CrawlResult:
        async with raw_server(answer or (lambda _head: b"")) as raw:
            target = DEAD if answer is None else f"::127.0.0.1:{raw.port}"
            fetch = {"connect_to": [target], "retry_wait": 0.01, "timeout": 5.0}
            settings = load(None, {"crawl": {"delay": 0.0, **crawl_keys}, "fetch": fetch})
            store = f"sqlite:///{folder / 's.db'}"
            return await wiring.crawl(seeds or [SEED], store, settings, notify=lambda _text: None)

    return asyncio.run(run())


def status(folder: Path) -> dict[str, Any]:
    """Return the status of the store."""
    with report.reading(f"sqlite:///{folder / 's.db'}") as connection:
        return report.status(connection)


def test_a_seed_that_is_refused_is_told_and_tried_again_by_the_same_command(
    tmp_path: Path,
) -> None:
    result = crawl(tmp_path, None)
    reason = "robots-unreachable: connection refused"
    assert result.failed_seeds == (FailedSeed(SEED, reason),)
    assert (result.finished, result.is_fruitless) == (True, True)
    assert last_words.exit_code(result) == 4
    assert status(tmp_path)["failed"] == {reason: 1}
    assert status(tmp_path)["job"]["state"] == "failed"
    again = crawl(tmp_path, lambda _head: page("/x"))
    assert (again.progress.pages, again.failed_seeds) == (2, ())
    assert last_words.exit_code(again) == 0
    assert status(tmp_path)["job"]["state"] == "finished"


def test_what_could_not_be_reached_is_tried_again_and_other_failures_are_not(
    tmp_path: Path,
) -> None:
    def first(head: bytes) -> Answer:
        if b"b.example" in head:
            return ok(b"", status="503 Busy")
        return (
            page("http://b.example/1", "/broken") if target_of(head) == "/" else b"no HTTP\r\n\r\n"
        )

    crawl(
        tmp_path,
        lambda head: ok(b"") if b"robots" in head and b"a.ex" in head else first(head),
        scope="any",
    )
    assert status(tmp_path)["failed"] == {"robots-unreachable: status 503": 1, "protocol": 1}
    requested: list[str] = []

    def second(head: bytes) -> Answer:
        requested.append(target_of(head))
        return page()

    crawl(tmp_path, second, scope="any")
    assert requested == ["/robots.txt", "/1"]
    assert status(tmp_path)["failed"] == {"protocol": 1}


def test_a_crawl_that_was_interrupted_goes_on_without_asking_again_for_what_it_knows(
    tmp_path: Path,
) -> None:
    crawl(tmp_path, lambda _head: ok(b"", status="404 Not Found"))
    with closing(sqlite3.connect(tmp_path / "s.db")) as database, database:
        database.execute("UPDATE jobs SET state = 'interrupted'")
    result = crawl(tmp_path, lambda _head: page())
    assert result.failed_seeds == (FailedSeed(SEED, "status 404"),)
    assert crawl(tmp_path, lambda _head: page()).failed_seeds == (), "that run came to its end"


@pytest.mark.parametrize("code", ["404 Not Found", "403 Forbidden"])
def test_a_seed_that_answers_with_an_error_gave_no_page(tmp_path: Path, code: str) -> None:
    result = crawl(tmp_path, lambda _head: ok(b"", status=code))
    assert result.failed_seeds == (FailedSeed(SEED, f"status {code[:3]}"),)
    assert result.is_fruitless
    again = crawl(tmp_path, lambda _head: page())
    assert again.failed_seeds == ()


def test_a_seed_is_followed_to_where_it_redirects(tmp_path: Path) -> None:
    def answer(head: bytes) -> Answer:
        target = target_of(head)
        if target == "/loop":
            return ok(b"", "Location: /pool", status="302 Found")
        if target == "/pool":
            return ok(b"", "Location: /loop", status="302 Found")
        if target == "/mail":
            return ok(b"", "Location: mailto:a@b.example", status="302 Found")
        if target == "/away":
            return ok(b"", "Location: /there", status="301 Moved")
        return ok(b"", status="404 Not Found") if target == "/there" else page()

    seeds = [SEED + name for name in ("away", "loop", "mail", "fine")]
    result = crawl(tmp_path, answer, *seeds)
    assert result.failed_seeds == (
        FailedSeed(f"{SEED}away", "status 404", f"{SEED}there"),
        FailedSeed(f"{SEED}loop", "loop", f"{SEED}pool"),
        FailedSeed(f"{SEED}mail", "scheme"),
    )
    assert not result.is_fruitless, "one of them gave a page"


def test_robots_txt_and_passwords(tmp_path: Path) -> None:
    rules = ok(b"User-agent: *\nDisallow: /")
    result = crawl(tmp_path, lambda _head: rules, "http://u:secret@a.example/")
    assert result.failed_seeds == (FailedSeed("http://u:***@a.example/", "robots"),)


def test_a_link_that_a_limit_held_is_fetched_as_a_seed(tmp_path: Path) -> None:
    def answer(head: bytes) -> Answer:
        return page("/1/") if target_of(head) == "/" else page("/2/")

    crawl(tmp_path, answer, max_depth=0)
    assert status(tmp_path)["held"] == {"too-deep": 1}
    result = crawl(tmp_path, answer, f"{SEED}1/", max_depth=0)
    assert (result.progress.pages, result.failed_seeds) == (1, ())
    assert status(tmp_path)["held"] == {"too-deep": 1}, "now it is /2/"


def test_an_interrupted_crawl_is_interrupted_whatever_its_seeds_did() -> None:
    result = wiring.CrawlResult(
        finished=False,
        seconds=1.0,
        progress=Progress(),
        seeds=1,
        failed_seeds=(FailedSeed(SEED, "dns"),),
    )
    assert last_words.exit_code(result) == 3


@each(
    ("url", "reason", "because", "advice"),
    [
        (SEED, "address", "no public address", "--allow-private"),
        (
            "http://a.example:6379/",
            "address",
            "port 6379 belongs to another protocol",
            "such ports are never asked",
        ),
        (SEED, "robots-unreachable: tls, self-signed", "accepted: self-signed", "--ca-file"),
        (
            SEED,
            "robots-unreachable: dns",
            "name could not be resolved",
            "a name that this machine can resolve",
        ),
        (SEED, "robots-unreachable: connection refused", "connection refused", "http or https"),
        (SEED, "robots-unreachable: timeout", "took too long", "timeout in [fetch]"),
        (SEED, "robots-unreachable: status 503", "status 503", "the same crawl command"),
        (SEED, "too-large", "larger than allowed", "max_body"),
        (SEED, "robots", "robots.txt disallows it", "the owner of the site"),
        (SEED, "status 404", "the server answered with status 404", None),
    ],
)
def test_each_cause_is_a_sentence_with_what_helps(
    url: str, reason: str, because: str, advice: str | None
) -> None:
    seed = FailedSeed(url, reason)
    [data] = last_words.as_data([seed], load(None, {}))
    assert because in data.because
    assert (advice is None) is (data.advice is None)
    assert advice is None or advice in data.advice
    result = wiring.CrawlResult(
        finished=True, seconds=1.0, progress=Progress(), seeds=1, failed_seeds=(seed,)
    )
    found = {"failed": {}, "not_again": {}, "urls": {"queued": 0}}
    told = "\n".join(last_words.spoken(result, found, load(None, {})))
    assert because in told
    assert advice is None or advice in told
    assert "no seed gave a page" in told


def test_the_last_words_name_what_is_left() -> None:
    seeds = tuple(FailedSeed(f"{SEED}{n}", "status 404") for n in range(13))
    result = wiring.CrawlResult(
        finished=True, seconds=1.0, progress=Progress(), seeds=20, failed_seeds=seeds
    )
    found = {"failed": {"dns": 2, "loop": 1}, "not_again": {}, "urls": {"queued": 7, "fetched": 10}}
    told = list(last_words.spoken(result, found, load(None, {"crawl": {"max_pages": 10}})))
    assert len(told) == 13
    assert told[10] == "canonry: 3 more seeds gave no page"
    assert told[11] == "2 URLs could not be reached (dns); the same command tries them again."
    assert told[12] == "Stopped at --max-pages 10; 7 URLs are queued."
    limits = load(None, {"crawl": {"max_pages": 11}})
    assert list(last_words.spoken(result, found, limits)) == told[:12], "it is not what stopped it"


def test_the_command_names_the_flag_and_has_an_exit_code_of_its_own(tmp_path: Path) -> None:
    words = ["crawl", "http://127.0.0.1:8000/", "--store", f"sqlite:///{tmp_path / 's.db'}"]
    done = CliRunner().invoke(main, [*words, "--json"])
    assert done.exit_code == 4
    assert "--allow-private" in done.stderr
    found = json.loads(done.stdout)
    assert found["finished"] is False
    assert [seed["reason"] for seed in found["failed_seeds"]] == ["address"]

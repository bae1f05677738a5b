"""Options of ``crawl`` that change what is sent: they arrive, and no output shows a secret."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.crawls import host_of, page, target_of
from support.servers import raw_server
from support.sites import from_thread

from canonry.crawler.cli.commands import main

SECRET = "s3cret"  # noqa: S105 - what has to disappear


def test_what_is_sent_arrives_and_no_output_shows_a_secret(tmp_path: Path) -> None:
    config, store, log = (str(tmp_path / name) for name in ("my.toml", "s.db", "log.jsonl"))
    jar = tmp_path / "jar"
    jar.write_text(f"a.example\tFALSE\t/\tFALSE\t0\tsid\t{SECRET}\n")
    Path(config).write_text(f'[hosts."a.example"]\nbasic_auth = "u:{SECRET}"\ncookies = "t=1"\n')
    words = [
        "--config",
        config,
        "--config",
        f"crawl.log={log}",
        "--cookies",
        str(jar),
        "--delay",
        "0",
        "--json",
    ]
    words += ["--header", f"X-Token: {SECRET}", "--header", "X-Team: search"]
    words += ["--user-agent", "mine/2", "--contact", "me@a.example", "--requests-per-host", "9"]
    to_store = ["--store", f"sqlite:///{store}"]
    answer = page("/x", f"http://b:{SECRET}@b.example/")
    with from_thread(raw_server(lambda head: answer if target_of(head) == "/" else page())) as raw:
        to = ["--connect-to", f"::127.0.0.1:{raw.port}", "--scope", "any"]
        done = CliRunner().invoke(main, ["crawl", "http://a.example/", *words, *to, *to_store])
        assert done.exit_code == 0, done.output
        status = CliRunner().invoke(main, ["status", "--json", *to_store])
        assert status.exit_code == 0
    heads = {(host_of(head), target_of(head)): head.decode() for head in raw.heads}
    sent, elsewhere = heads["a.example", "/x"], heads["b.example", "/"]
    for line in ("X-Team: search", f"X-Token: {SECRET}", f"Cookie: sid={SECRET}; t=1"):
        assert f"{line}\r\n" in sent
    assert "Authorization: Basic dTpzM2NyZXQ=\r\n" in sent
    assert "User-Agent: mine/2 (+me@a.example)\r\n" in sent
    assert "X-Team: search\r\n" in elsewhere
    assert "X-Token" not in elsewhere
    assert "Cookie" not in elsewhere
    assert "X-Token of --header is sent to the seeds' own hosts only" in done.stderr
    for shown in (done.output, status.output, Path(log).read_text()):
        assert SECRET not in shown
        assert "dTpzM2NyZXQ" not in shown


def test_a_table_changes_pace_and_limits_of_its_host(tmp_path: Path) -> None:
    """At the pace of all other hosts, this crawl would take minutes."""
    config = tmp_path / "my.toml"
    config.write_text('[hosts."a.example"]\ndelay = 0\nmax_pages = 3\nmax_depth = 1\n')
    store = ["--store", f"sqlite:///{tmp_path / 's.db'}"]
    pages = {"/": page("/1", "/2", "/3"), "/1": page("/deep")}
    with from_thread(raw_server(lambda head: pages.get(target_of(head), page()))) as raw:
        words = [
            "--config",
            str(config),
            "--delay",
            "60",
            "--connect-to",
            f"::127.0.0.1:{raw.port}",
        ]
        done = CliRunner().invoke(main, ["crawl", "http://a.example/", *words, *store])
        assert done.exit_code == 0, done.output
    found = json.loads(CliRunner().invoke(main, ["status", "--json", *store]).stdout)
    assert found["held"] == {"host-budget": 1, "too-deep": 1}
    for url, says in (("/3", "max_pages of [hosts] for a.example"), ("/deep", "max_depth of [hos")):
        why = CliRunner().invoke(main, ["why", f"http://a.example{url}", *store])
        assert says in why.stdout


def test_a_crawl_takes_the_policy_of_its_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless an option, a variable or the settings file names another one."""
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text("[fetch]\nretries = 0\nretry_wait = 0.0\n")
    Path("p.toml").write_text('[crawl]\npolicy = "web"\n')

    def crawl(*words: str) -> Result:
        seed = ["crawl", "http://a.example/", "--connect-to", "::127.0.0.1:1", "--store", "s.db"]
        return CliRunner().invoke(main, [*seed, *words])

    assert crawl("--config", "c.toml", "--policy", "search").exit_code == 4
    done = crawl("--config", "c.toml")
    assert done.exit_code == 4
    assert "keys are of policy search, so this crawl has that policy, too" in done.stderr
    status = CliRunner().invoke(main, ["status", "--store", "s.db", "--json"])
    found = json.loads(status.stdout)
    assert (found["policy"], found["job"]["settings"]["settings"]["crawl"]["policy"]) == (
        "search/1",
        "search",
    )
    monkeypatch.setenv("CANONRY_FETCH_RETRIES", "0")
    for contradicting in (["--policy", "web"], ["--config", "p.toml"]):
        done = crawl(*contradicting)
        assert (done.exit_code, "give --policy search@1" in done.stderr) == (1, True)
    monkeypatch.setenv("CANONRY_CRAWL_POLICY", "web")
    assert "give --policy search@1" in crawl().stderr

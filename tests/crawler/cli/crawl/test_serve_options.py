"""The options of the live page, which serve and crawl share: where it is, and who may see it."""

import http.client
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.crawls import page
from support.forking import Fork
from support.servers import raw_server
from support.sites import from_thread, start

from canonry.crawler.cli.commands import main

TOKEN = "not-guessed-easily"  # noqa: S105 - of a test


@pytest.mark.parametrize(
    ("words", "env"),
    [
        (["--token-file", "token.txt"], {}),
        (["--token-file", "token.txt"], {"CANONRY_TOKEN": "of-another-run"}),
        ([], {"CANONRY_TOKEN": TOKEN}),
        (["--token", TOKEN], {"CANONRY_TOKEN": "of-another-run"}),
    ],
)
def test_viewers_need_the_token_that_was_given(
    tmp_path: Path, words: list[str], env: dict[str, str]
) -> None:
    (tmp_path / "token.txt").write_text(f"{TOKEN}\nanother line\n")
    with pytest.MonkeyPatch.context() as patch, from_thread(raw_server(lambda _: page())) as raw:
        for name, value in env.items():
            patch.setenv(name, value)
        to = ["--connect-to", f"::127.0.0.1:{raw.port}"]
        of_crawl = (
            [] if "--token-file" in words else [["crawl", "http://a.example/", *to, "--serve=0"]]
        )
        for command in (["serve", "--port", "0"], *of_crawl):
            with start(tmp_path, *command, *words) as process:
                told = place_of(process)
                process.terminate()
            assert told.endswith(f"/?token={TOKEN}\n")


def test_the_page_listens_where_it_is_told_and_answers_to_names(tmp_path: Path) -> None:
    with start(
        tmp_path, "serve", "--host", "localhost", "--port", "0", "--allow-host", "crawl.example"
    ) as process:
        port = int(place_of(process).strip().rstrip("/").rpartition(":")[2])
        names = ("crawl.example", "no.example")
        asked = {name: status_of(port, f"{name}:{port}") for name in names}
        process.terminate()
    assert asked["crawl.example"] != asked["no.example"] == 421


def place_of(process: Fork) -> str:
    """Return the line that says where the page is."""
    lines = (line.decode() for line in process.stderr)
    return next(line for line in lines if line.startswith("The live page: "))


def status_of(port: int, name: str) -> int:
    """Return the status of the page for viewers who use a name."""
    connection = http.client.HTTPConnection("localhost", port, timeout=30)
    connection.request("GET", "/", headers={"Host": name})
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("serve --token-file nothing.txt", 2, "--token-file nothing.txt: cannot be read: No such"),
        ("serve --token-file latin.txt", 2, "--token-file latin.txt: cannot be read: it is not U"),
        ("serve --token-file empty.txt", 2, "at least 8 ASCII characters"),
        ("serve --token-file empty.txt --token x", 2, "exclude each other"),
        ("crawl http://a.example/ --token 123456789", 2, "needs --serve"),
        ("crawl --serve http://a.example/", 2, "neither PORT nor HOST:PORT; seeds go before"),
        ("crawl http://a.example/ --serve=localhost", 2, "neither PORT nor HOST:PORT"),
    ],
)
def test_options_that_cannot_be_used_are_errors(
    words: str, code: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("latin.txt").write_bytes(b"\xe4\xf6\xfc")
    Path("empty.txt").touch()
    done = CliRunner().invoke(main, words.split())
    assert (done.exit_code, told in done.output) == (code, True), done.output

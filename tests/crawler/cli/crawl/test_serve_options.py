"""The token of the live page: from an option, a file or the environment, for serve and crawl."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.crawls import page
from support.servers import raw_server
from support.sites import from_thread

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
        for command in (["serve", "--port", "0"], ["crawl", "http://a.example/", *to, "--serve=0"]):
            run = [sys.executable, "-m", "canonry", *command, *words]
            with subprocess.Popen(run, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
                assert process.stderr is not None
                lines = iter(process.stderr)
                told = next(line for line in lines if line.startswith("The live page: "))
                process.send_signal(signal.SIGTERM)
            assert told.endswith(f"/?token={TOKEN}\n")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("serve --token-file nothing.txt", 2, "--token-file nothing.txt: cannot be read: No such"),
        ("serve --token-file latin.txt", 2, "--token-file latin.txt: cannot be read: it is not U"),
        ("serve --token-file empty.txt", 2, "at least 8 ASCII characters"),
        ("serve --token-file empty.txt --token x", 2, "exclude each other"),
        ("crawl http://a.example/ --token-file empty.txt", 2, "need --serve"),
        ("crawl http://a.example/ --token 123456789", 2, "need --serve"),
    ],
)
def test_a_token_that_cannot_be_used_is_an_error(
    words: str, code: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("latin.txt").write_bytes(b"\xe4\xf6\xfc")
    Path("empty.txt").touch()
    done = CliRunner().invoke(main, words.split())
    assert (done.exit_code, told in done.output) == (code, True), done.output

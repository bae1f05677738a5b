"""The tutorials and how-to pages run: each in a folder of its own, block by block, on loopback.

A block of the kind ``console`` holds commands and what they print. A block with ``file=NAME`` is
written to that file. Examples of Python run at last, in that folder.
"""

import doctest
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from support import databases
from support.forking import on_path
from support.ports import free_port

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```(console|\w+ file=(\S+)|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PORT, _DATABASE = "8000", "postgresql://crawler@db.example/canonry"  # on the pages
_MARK = "--8<-- a command has ended: "
_AWAIT = f"until (: </dev/tcp/127.0.0.1/{_PORT}) 2>/dev/null; do sleep .02; done"
_AS_PRINTED = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# Other tests run these.
_ELSEWHERE = {"adapters.md", "any-crawler.md", "frames.md", "scrapy.md", "search-index.md"}


class Shown(NamedTuple):
    """A command on a page, and what it prints there."""

    command: str
    printed: str


def blocks_of(page: Path) -> list[tuple[str, str, str]]:
    """Return the blocks that run: the kind, the name of a file if it is one, and the text."""
    return [found.groups("") for found in _BLOCK.finditer(page.read_text(encoding="utf-8"))]


def commands_in(block: str) -> list[Shown]:
    """Return the commands of a block; a line that begins with ``>`` continues one."""
    texts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    found = []
    for text in texts:
        first, *rest = text.splitlines(keepends=True)
        while rest and rest[0].startswith("> "):
            first += rest.pop(0).removeprefix("> ")
        found.append(Shown(first.rstrip(), "".join(rest)))
    return found


def script_of(page: Path) -> tuple[str, list[Shown]]:
    """Return a page as a script, and its commands; each ends with a mark and its exit code."""
    lines, commands = [], []
    for kind, name, text in blocks_of(page):
        if name:
            lines.append(f"mkdir -p \"$(dirname '{name}')\"\ncat > '{name}' <<'END OF FILE'")
            lines.append(f"{text}END OF FILE")
        elif kind == "console":
            for shown in commands_in(text):
                lines += [shown.command, f"echo '{_MARK}'$?"]
                lines += [_AWAIT] if shown.command.endswith("&") else []
                commands.append(shown)
    return "\n".join(lines), commands


PAGES = sorted(
    page
    for room in ("tutorials", "how-to", "explanation")
    for page in (DOCS / room).glob("*.md")
    if page.name not in _ELSEWHERE
    and re.search("^(```console|>>> )", page.read_text(), re.MULTILINE)
)


def run(page: Path, folder: Path, database: str) -> None:
    """Run a page, and compare what its commands print."""
    script, commands = script_of(page)
    port = str(free_port())
    script = script.replace(_PORT, port).replace(_DATABASE, database)
    path = f"{folder / '.bin'}:{Path(sys.executable).parent}:/usr/bin:/bin"
    with on_path(folder / ".bin"), (folder / ".printed").open("wb") as output:
        process = subprocess.Popen(
            ["/bin/bash", "-c", script],
            cwd=folder,
            env={"PATH": path, "LANG": "C.UTF-8", "HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.wait(100)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # the servers that the page has started, too
    printed = (folder / ".printed").read_text(encoding="utf-8").replace(port, _PORT)
    results = re.split(rf"{re.escape(_MARK)}(\d+)\n", printed)
    assert len(results) == 2 * len(commands) + 1, printed
    for shown, got, code in zip(commands, results[::2], results[1::2], strict=False):
        assert code == "0", (shown.command, got)
        if shown.printed:
            assert doctest.OutputChecker().check_output(shown.printed, got, _AS_PRINTED), (
                f"{shown.command}\nprints:\n{got}"
            )


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if _DATABASE not in page.read_text()],
    ids=lambda page: page.stem,
)
def test_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(page, tmp_path, "")
    monkeypatch.chdir(tmp_path)
    examples = "\n".join(text for kind, _name, text in blocks_of(page) if kind == "python")
    report: list[str] = []
    parsed = doctest.DocTestParser().get_doctest(examples, {}, page.name, None, 0)
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(parsed, out=report.append)
    assert result.failed == 0, "".join(report)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if _DATABASE in page.read_text()], ids=lambda page: page.stem
)
def test_a_page_with_a_server_of_postgresql_runs(
    page: Path, tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(databases.SERVER, server)
    run(page, tmp_path, databases.url_of(tmp_path))


def test_every_tutorial_and_how_to_page_is_run() -> None:
    for room in ("tutorials", "how-to"):
        pages = set((DOCS / room).glob("*.md"))
        assert {page.name for page in pages - set(PAGES)} <= _ELSEWHERE

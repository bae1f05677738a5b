"""What ``status`` prints of a store."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.crawls import crawl, page, target_of
from support.databases import url_of
from support.servers import Answer
from support.stores import hold_a_name

from canonry.crawler.cli.commands import main


def _status(folder: Path) -> str:
    done = CliRunner().invoke(main, ["status", "--store", url_of(folder)])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


@pytest.mark.parametrize(("most", "says"), [(3, "stopped at --max-pages 3"), (9, "finished")])
def test_a_crawl_that_stopped_at_its_limit_of_pages_has_not_finished(
    most: int, says: str, tmp_path: Path
) -> None:
    def answer(_head: bytes) -> Answer:
        return page(*(f"/{n}" for n in range(6)))

    crawl(tmp_path, answer, max_pages=most)
    assert f"crawl {says} after " in _status(tmp_path)


def test_an_alias_of_a_rule_has_no_status(tmp_path: Path) -> None:
    hold_a_name(tmp_path)
    assert "aliases 1 rule" in _status(tmp_path)
    done = CliRunner().invoke(main, ["status", "--json", "--store", url_of(tmp_path)])
    assert json.loads(done.stdout)["aliases"] == [{"kind": "rule", "status": None, "aliases": 1}]


@pytest.mark.parametrize("width", [None, "50", "80"])
def test_long_urls_are_whole_at_each_width_and_in_a_pipe(width: str | None, tmp_path: Path) -> None:
    lengths = (60, 80, 120, 300)
    known, failed, far = (
        [f"http://{host}/{n}/{'x' * (n - 20)}" for n in lengths]
        for host in ("a.example/ok", "a.example/no", "b.example")
    )

    def answer(head: bytes) -> Answer:
        if target_of(head).startswith("/no"):
            return b"HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n"
        return page(*known, *failed, *far, f"{known[0]}?utm_source=x", f"ftp://c/{'y' * 200}")

    crawl(tmp_path, answer, retries=0)
    store = ("--store", url_of(tmp_path))
    for command, urls in {
        ("status",): (f"{known[0]}?utm_source=x", known[0], f"ftp://c/{'y' * 200}"),
        ("refused", "list"): (failed[-1], far[-1]),
        ("patterns", "list"): [f"a.example/ok/*/{'x' * (n - 20)}" for n in lengths],
        ("why", far[-1]): (far[-1],),
        ("why", known[2]): (known[2],),
        ("explain", known[2]): (known[2],),
    }.items():
        shown = CliRunner().invoke(main, [*command, *store], env={"COLUMNS": width}).stdout
        words = shown.split()
        assert [url for url in urls if url not in words] == []
        assert all(line == line.rstrip() for line in shown.splitlines())

"""What ``status`` prints of a store."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from support.crawls import crawl, page
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
    assert "rule 1" in _status(tmp_path)
    assert "rule 0" not in _status(tmp_path)

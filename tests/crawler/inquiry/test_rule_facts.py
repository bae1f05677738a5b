"""What people are told of learned rules: how many URLs they hold now, wherever it is said."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.databases import url_of
from support.live_pages import live_page
from support.stored_rules import SLASH, put_in_force
from support.stores import candidate, open_store, visited

from canonry.crawler.cli.commands import main
from canonry.storage import Page, State

H = "http://h.example"
_PATHS = 4


@pytest.mark.parametrize("status", [200, 500])
def test_spared_are_the_urls_that_are_held_now(tmp_path: Path, status: int) -> None:
    """What represents a URL may fail: then the URL is fetched after all, and nothing is spared."""
    page = Page(status, 0.1, "text/html", 1, b"d" * 16, None, None, 0)
    store = open_store(tmp_path)
    names = [f"{H}/{n}{end}" for n in range(_PATHS) for end in ("", "/")]
    store.admit([candidate(name)._replace(source=1) for name in names], 1.0)
    with store.transaction() as connection:
        put_in_force(connection, SLASH)
    for row in range(1, 2 * _PATHS, 2):
        store.record([visited(row, State.FETCHED, page=page)], 4.0)
    released = [] if status == 200 else range(2, 2 * _PATHS + 1, 2)
    for row in released:
        store.record([visited(row, State.FETCHED, page=page)], 5.0)
    store.close()
    said = _everywhere(url_of(tmp_path))
    assert said == dict.fromkeys(said, _PATHS if status == 200 else 0)


def _everywhere(store: str) -> dict[str, int]:
    """Return by place how many URLs a rule spares."""

    def printed(*words: str) -> str:
        done = CliRunner().invoke(main, ["rules", *words, "--store", store])
        assert done.exit_code == 0, done.output
        return done.output

    [listed] = json.loads(printed("list", "--json"))
    shown = printed("show", SLASH.id)
    with live_page(store) as viewer:
        return {
            "list": listed["spared"],
            "show --json": json.loads(printed("show", SLASH.id, "--json"))["spared"],
            "show": int(shown.partition(" held because of it")[0].split()[-2]),
            "state": viewer.json("/rules")["rules"][0]["spared"],
            "host": viewer.json("/rules?host=h.example")["rules"][0]["spared"],
            "rule": viewer.json(f"/rules?id={SLASH.id}")["chosen"]["rule"]["spared"],
            "strip": viewer.json("/strip")["spared"],
        }

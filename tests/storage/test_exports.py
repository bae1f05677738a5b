"""Exports of a store: how long they take."""

from pathlib import Path

from support.stores import admit, counted_steps, open_store, url_of, visited

from canonry.storage import Page, State
from canonry.storage.reading import report


def test_an_export_takes_no_longer_for_each_of_many_missing_pages(tmp_path: Path) -> None:
    """They have one body, mostly: of 66,000, each was compared with all others."""
    store = open_store(tmp_path)
    steps = []
    for many in (200, 1_800):
        found = admit(store, [f"http://a.example/{many}/{n}" for n in range(many)])
        missing = Page(404, 0.1, "text/html", 10, bytes(16), "Not found", None, 0)
        outcomes = [visited(one.url_id, State.FETCHED, page=missing) for one in found]
        store.record(outcomes, 1.0)
        with report.reading(url_of(tmp_path)) as connection, counted_steps(connection) as counted:
            assert all(row["same_body_as"] is None for row in report.rows(connection, "pages"))
        steps.append(counted[0])
    store.close()
    assert steps[1] < 15 * steps[0], "ten times as many pages"

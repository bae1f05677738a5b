"""The watch: active rules are verified now and then on what they hold."""

from pathlib import Path

from support.stored_rules import REF, SLASH, put_in_force
from support.stores import admit_names, assert_counts_are_right, open_store, visited

from canonry.crawler.learn.trials.occasion import Occasion
from canonry.crawler.learn.trials.watched import Watched
from canonry.crawler.learn.trials.watching import watch
from canonry.storage import State
from canonry.storage.learned.tracked_rule import TrackedRule
from canonry.storage.records import Page

PAGE = Page(200, 0.1, "text/html", 10, bytes(16), "title", None, 1)


def test_one_held_url_is_asked_for_every_fifty_answers(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit_names(store, 100)
    watched = Watched()
    with store.transaction() as connection:
        rules, in_force = put_in_force(connection, SLASH, REF)

        def released(answers: int, now: float, given: list[TrackedRule] = rules) -> list[int]:
            occasion = Occasion(connection, "h.example", answers, given, in_force, now)
            return watch(occasion, watched)

        assert released(49, 10.0) == []
        rows = []
        for turn in range(1, 9):
            [row] = released(50, 10.0 + turn)
            rows.append(row)
            rules[turn % 2].verified_at = 10.5 + turn  # which it asked is not told
        assert len(set(rows)) == 8
        assert max(rows) - min(rows) > 150, "from all over the host"
        query = "SELECT url FROM urls WHERE state = 0 AND priority = 0"
        queued = set(connection.exec_driver_sql(query).scalars())
        assert any(url.endswith("/") for url in queued)
        assert any("ref" in url for url in queued), "all rules have their turns"
        for rule in rules:
            rule.verified_at = 30.0
        assert released(50, 40.0) == [], "both were just verified"
        rules[0].enter("suspended", 41.0)
        rules[1].enter("revoked", 41.0)
        assert released(500, 42.0) == []
        assert_counts_are_right(connection)
    store.close()


def test_every_second_url_is_that_of_a_large_page(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit_names(store, 100)
    with store.transaction() as connection:
        [rule], in_force = put_in_force(connection, SLASH)
        queued = connection.exec_driver_sql("SELECT id FROM urls WHERE state = 0").scalars().all()
    store.record([visited(row, State.FETCHED, page=PAGE) for row in queued], 5.0)
    with store.transaction() as connection:
        large = "UPDATE pages SET size = 9999 WHERE url_id IN (SELECT to_id FROM aliases) AND "
        connection.exec_driver_sql(f"{large} url_id % 16 = 1")
        query = "SELECT from_id FROM aliases JOIN pages ON url_id = to_id WHERE size = 9999"
        names = set(connection.exec_driver_sql(query).scalars())
        watched, rows = Watched(), []
        for turn in range(1, 13):
            rule.verified_at = 10.0
            occasion = Occasion(connection, "h.example", 50, [rule], in_force, 10.0 + turn)
            rows += watch(occasion, watched)
    assert len(names) < 10
    assert sum(row in names for row in rows) >= 4
    store.close()


def test_on_a_site_with_many_answers_a_few_are_asked_at_once(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit_names(store, 100)
    watched = Watched()
    with store.transaction() as connection:
        rules, in_force = put_in_force(connection, SLASH, REF)
        occasion = Occasion(connection, "h.example", 50, rules, in_force, 10.0)
        found = [len(watch(occasion._replace(now=10.0 + n), watched)) for n in range(48)]
        assert found == [1] * 20 + [0, 2] * 10 + [0, 0, 3] + [0, 0, 3] + [0, 0]
        assert_counts_are_right(connection)
    store.close()

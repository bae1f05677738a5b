"""The last look: when nothing of a site waits, rules that rest on reading are tested once more."""

from pathlib import Path

from support.stored_rules import REF, SLASH, put_in_force
from support.stores import admit_names, open_store, visited

from canonry.crawler.learn.questions.to_sample import ToSample
from canonry.crawler.learn.trials.last_look import last_look
from canonry.crawler.learn.trials.occasion import Occasion
from canonry.crawler.learn.trials.watched import Watched
from canonry.storage import State
from canonry.storage.learned.tracked_rule import TrackedRule

PAGES = 300


class CountingReader:
    """Counts the pairs that may be read."""

    def __init__(self) -> None:
        self.pairs = 0

    def read_more(self, rule: TrackedRule, pairs: int) -> None:
        assert rule.state == "active"
        self.pairs += pairs


def test_when_nothing_waits_some_of_what_a_rule_holds_is_asked_and_read(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit_names(store, PAGES)
    watched, reader = Watched(), CountingReader()
    with store.transaction() as connection:
        rules, in_force = put_in_force(connection, SLASH, REF)
        held = set(connection.exec_driver_sql("SELECT id FROM urls WHERE state <> 0").scalars())
        queued = list(connection.exec_driver_sql("SELECT id FROM urls WHERE state = 0").scalars())
    watched.site("h.example", 10.0).answers = 100

    def asked(*, by_reading: bool = True) -> set[int]:
        given = [ToSample(rule, is_by_reading=by_reading) for rule in rules]
        with store.transaction() as connection:
            occasion = Occasion(connection, "h.example", 0, rules, in_force, 10.0)
            return held.intersection(last_look(occasion, given, watched, reader))

    assert not asked(), "others wait"
    store.record([visited(row, State.FETCHED) for row in queued], 5.0)
    assert not asked(by_reading=False), "a sketch tells whether its pages are the same"
    found = asked()
    assert 16 < len(found) <= 32, "of each rule"
    assert max(found) - min(found) > 0.7 * 3 * PAGES, "from all over it"
    assert reader.pairs == 16
    store.record([visited(row, State.FETCHED) for row in found], 6.0)
    assert not asked(), "it is tested once"
    last = max(held)
    for more, is_enough in ((60, False), (160, True)):  # of 568
        admit_names(store, PAGES + more)
        with store.transaction() as connection:
            put_in_force(connection, SLASH, REF)
            waiting = connection.exec_driver_sql("SELECT id FROM urls WHERE state = 0").scalars()
            rows = list(waiting)
            held.update(connection.exec_driver_sql("SELECT id FROM urls WHERE state = 4").scalars())
        store.record([visited(row, State.FETCHED) for row in rows], 7.0)
        new = asked()
        assert bool(new) == is_enough, "and again, when it holds a quarter more"
    assert min(new) > last, "of what it holds since then"
    store.close()

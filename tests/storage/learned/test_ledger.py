"""The ledger: pairs and answers in the store; rules show some of their pairs."""

from pathlib import Path

import pytest
from support.databases import url_of
from support.stores import admit, open_store

from canonry.canon.learned import Rewrite
from canonry.storage.learned import ledger, rule_rows
from canonry.storage.learned.ledger import CONTENT, DIFFERENT, MINED, OWN_WORD, SAME, StoredPair
from canonry.storage.learned.rule_rows import SAMPLES, TrackedRule
from canonry.storage.reading import report

pytestmark = pytest.mark.every_database

WWW = TrackedRule(Rewrite("h.example", "www", new="www.h.example"))


def pair(number: int, verdict: int, source: int = CONTENT, at: float = 5.0) -> StoredPair:
    first, second = f"http://h.example/{number}", f"http://www.h.example/{number}"
    return StoredPair(WWW.id, first, second, second, verdict, source, 2, at)


def test_a_pair_that_is_judged_again_replaces_what_it_was(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.transaction() as connection:
        rule_rows.put(connection, [WWW])
        ledger.put_pairs(connection, [pair(1, SAME), pair(2, SAME, MINED, 4.0)])
        ledger.put_pairs(connection, [pair(1, DIFFERENT, OWN_WORD, 9.0)])
        ledger.put_pairs(connection, [])
        found = list(ledger.pairs_of(connection, [WWW.id]))
        [rule] = rule_rows.with_ids(connection, [WWW.id])
    store.close()
    first = pair(1, DIFFERENT, OWN_WORD, 5.0)  # the time is that of the first verdict
    assert found == [pair(2, SAME, MINED, 4.0), first]
    assert (rule.samples, rule.against) == ([pair(2, SAME)[1:3]], [first[1:3]])


def test_a_rule_shows_its_first_pairs_and_no_passwords(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    private = "http://u:pw@h.example/x"
    with store.transaction() as connection:
        rule_rows.put(connection, [WWW])
        ledger.put_pairs(connection, [pair(n, SAME, at=float(n)) for n in range(9, 0, -1)])
        ledger.put_pairs(connection, [pair(0, DIFFERENT)._replace(first=private)])
    store.close()
    with report.reading(url_of(tmp_path)) as connection:
        [rule] = rule_rows.with_ids(connection, [WWW.id])
    assert rule.samples == [pair(n, SAME)[1:3] for n in range(1, SAMPLES + 1)]
    assert "pw" not in str(rule.against)


def test_answers_are_kept_until_they_are_forgotten(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    here, other = (one.url_id for one in admit(store, ["http://h.example/", "http://x.example/"]))
    digest, blocks = b"d" * 16, b"\x00\xff"
    with store.transaction() as connection:
        given = [(here, 0, digest, blocks), (here, 1, digest, None), (other, 0, digest, None)]
        ledger.put_answers(connection, given)
        ledger.put_answers(connection, [(here, 0, b"e" * 16, b"")])  # it is known already
        [first, second] = ledger.answers_of(connection, ["h.example"])
        assert first == ledger.StoredAnswer("http://h.example/", here, digest, blocks)
        assert second.blocks is None
        ledger.forget_answers(connection, [here])
        assert not list(ledger.answers_of(connection, ["h.example"]))
        assert len(list(ledger.answers_of(connection, ["x.example"]))) == 1
    store.close()

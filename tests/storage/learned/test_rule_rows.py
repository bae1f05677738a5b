"""Rows of rules: their samples in the store are those that they show."""

from pathlib import Path

import pytest
from support.stores import open_store

from canonry.canon.learned import Rewrite
from canonry.storage.learned import rule_rows
from canonry.storage.learned.tracked_rule import TrackedRule

pytestmark = pytest.mark.every_database

A, B = "http://h.example/a", "http://h.example/b"


def test_a_sample_that_is_withdrawn_is_in_the_store_no_more(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    rule = TrackedRule(Rewrite("h.example", "www"))
    rule.add_sample(A, B, agrees=True)
    rule.add_sample(A, B, agrees=False)
    rule.add_sample(B, A, agrees=False)
    rule.withdraw_sample(B, agrees=False)
    for steps in range(2):
        with store.transaction() as connection:
            rule_rows.put(connection, [rule])
            [stored] = rule_rows.of_host(connection, "h.example")
        assert stored.against == rule.against == [(A, B)][steps:]
        assert stored.samples == [(A, B)]
        rule.withdraw_sample(A, agrees=False)
    rule.add_sample(A, B, agrees=False)
    with store.transaction() as connection:
        rule_rows.put(connection, [rule])
        [stored] = rule_rows.of_host(connection, "h.example")
    assert stored.against == [(A, B)]
    store.close()

"""Held URLs that are released to be compared."""

from pathlib import Path

import pytest
from canonry.crawler.learn.trials.occasion import Occasion
from support.stored_rules import REF, put_in_force
from support.stores import candidate, open_store

from canonry.canon import LearnedRule
from canonry.crawler.learn.rules.held_urls import release_in_pairs
from canonry.storage.learned.held_names import held_for

SIZE = LearnedRule(host="h.example", family="parameter-irrelevant", old="size")


@pytest.mark.parametrize(
    ("names", "released"),
    [
        (["?ref=a", "?size=S", "?size=L"], ["?size=S", "?ref=a", "?size=L"]),
        (["?ref=a", "?ref=b", "?size=S"], ["?size=S", "?ref=a"]),
        (["", "?size=S", "?size=L"], ["?size=S", ""]),
        (["?size=M", "?size=S", "?size=L"], ["?size=S", "?size=M"]),
    ],
    ids=["its page is known by another parameter", "alone", "without", "with it"],
)
def test_a_name_is_released_with_one_that_differs_only_in_what_the_rule_changes(
    tmp_path: Path, names: list[str], released: list[str]
) -> None:
    """Where all links have a parameter, what represents a name may differ from it in two."""
    store = open_store(tmp_path)
    page = "http://h.example/p"
    given = [candidate(page + name)._replace(source=1, depth=1) for name in names]
    rows = dict(zip(names, (one.row for one in store.admit(given, 1.0)), strict=True))
    with store.transaction() as connection:
        [rule, _ref], in_force = put_in_force(connection, SIZE, REF)
        [first] = connection.exec_driver_sql("SELECT id FROM urls WHERE state = 0").scalars()
        one = next(one for one in held_for(connection, first) if one.url.endswith("?size=S"))
        occasion = Occasion(connection, "h.example", 1, [rule], in_force, 10.0)
        found = release_in_pairs(occasion, {one: rule})
    assert set(found) == {rows[name] for name in released}
    store.close()

"""Which URLs a rule holds, of those that several rules do."""

from pathlib import Path

from support.stored_rules import REF, SLASH, put_in_force
from support.stores import candidate, open_store

from canonry.crawler.inquiry.rule_names import held_by
from canonry.storage.learned.host_urls import held_first


def test_a_rule_holds_what_it_changes_or_what_it_makes_of_the_other_name(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    page = "http://h.example/p"
    names = [f"{page}?ref=a", page, f"{page}?ref=b", f"{page}/", "http://h.example/q"]
    store.admit([candidate(name)._replace(source=1, depth=1) for name in names], 1.0)
    with store.transaction() as connection:
        rules, in_force = put_in_force(connection, SLASH, REF)
        _number, held = held_first(connection, "h.example", 100)
        found = list(held)
        by_rule = [{one.url for one in held_by(rule, found, in_force)} for rule in rules]
    store.close()
    assert by_rule == [{f"{page}/"}, {f"{page}?ref=a", f"{page}?ref=b"}]

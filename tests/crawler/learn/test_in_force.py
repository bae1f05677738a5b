"""Rules in force: which hosts a rule concerns."""

from pathlib import Path

from support.stores import MAKE, admit, open_store

from canonry.canon import LearnedRule
from canonry.canon.learned import Rewrite
from canonry.crawler.learn.in_force import RulesInForce

ALIAS = LearnedRule(host="b.example", family="host-alias", new="c.example", state="active")


def test_a_rule_that_moves_a_host_concerns_both_and_what_is_joined_to_them(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, ["http://x.shop.example:8080/", "http://y.shop.example/", "http://o.example/"])
    in_force = RulesInForce((ALIAS,), MAKE)
    with store.transaction() as connection:

        def hosts_of(rule: Rewrite) -> set[str]:
            return in_force.hosts_of(connection, rule)

        moves = Rewrite(host="a.example:81", family="host-alias", new="b.example:82")
        assert hosts_of(moves) == {"a.example", "b.example"}, "hosts are known without ports"
        moves = Rewrite(host="a.example", family="host-alias", new="b.example")
        assert hosts_of(moves) == {"a.example", "b.example", "c.example"}
        stays = Rewrite(host="a.example", family="trailing-slash", new="slash")
        assert hosts_of(stays) == {"a.example"}
        wide = Rewrite(host="shop.example", family="www", new="www.shop.example", subdomains=True)
        joined = {"shop.example", "www.shop.example", "x.shop.example", "y.shop.example"}
        assert hosts_of(wide) == joined
    store.close()

"""Learned rules in the store of a test: they are in force, and hold what they merge."""

from sqlalchemy import Connection
from support.stores import MAKE

from canonry.canon import LearnedRule
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.storage.learned.rule_rows import TrackedRule

SLASH = LearnedRule(host="h.example", family="trailing-slash", new="bare")
REF = LearnedRule(host="h.example", family="parameter-irrelevant", old="ref")


def put_in_force(
    connection: Connection, *rules: LearnedRule
) -> tuple[list[TrackedRule], RulesInForce]:
    """Import rules; return them as the store has them, and the rules in force."""
    rule_store.import_rules(connection, rules, MAKE, 2.0)
    in_force, _done = rule_store.publish(connection, [rules[0].rewrite], MAKE, 3.0)
    return [rule_store.find(connection, rule.id) for rule in rules], in_force

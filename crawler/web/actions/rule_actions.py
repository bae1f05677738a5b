"""Actions on learned rules: what ``canonry rules revoke`` and ``reinstate`` do."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sqlalchemy import Connection

from canonry.canon import Canonicalizer, RulesError
from canonry.canon.learned import describe
from canonry.crawler import opening
from canonry.crawler.inquiry.last_crawl import last_crawl, policy_of
from canonry.crawler.inquiry.rule_facts import standing_in
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.plurals import counted
from canonry.crawler.web.panel import BadQuestionError
from canonry.storage import StoreError, report
from canonry.storage.learned.tracked_rule import TrackedRule


def revoke(store: str, fields: Mapping[str, str], now: float) -> str:
    """Revoke a rule: the field ``id``. The URLs that it held go back to the queue."""
    with _changing(store) as (connection, canonicalizer):
        rule = _find(connection, fields)
        if rule.state == "revoked":
            raise BadQuestionError(f"rule {rule.id} is revoked already")
        done = rule_store.revoke(connection, rule, canonicalizer, now)
    return (
        f"Rule {rule.id} is revoked: {describe(rule.rewrite)}; "
        f"{counted(len(done.released), 'URL')} went back to the queue."
    )


def reinstate(store: str, fields: Mapping[str, str], now: float) -> str:
    """Bring a rule back: the field ``id``; as a candidate, if the field ``trial`` is not empty."""
    with _changing(store) as (connection, canonicalizer):
        rule = _find(connection, fields)
        try:
            done = rule_store.reinstate(
                connection, rule, canonicalizer, now, trial=bool(fields.get("trial"))
            )
        except (StoreError, RulesError) as error:
            raise BadQuestionError(str(error)) from None
        standing = standing_in(connection, rule).sentence
    return (
        f"Rule {rule.id} is reinstated: {describe(rule.rewrite)}; "
        f"{counted(len(done.held), 'queued URL')} held as duplicates. {standing}."
    )


def _find(connection: Connection, fields: Mapping[str, str]) -> TrackedRule:
    try:
        return rule_store.find(connection, fields.get("id", "").strip())
    except StoreError as error:
        raise BadQuestionError(str(error)) from None


@contextmanager
def _changing(store: str) -> Iterator[tuple[Connection, Canonicalizer]]:
    """Open a store to change its rules, under the policy that it was made with."""
    with report.reading(store) as connection:
        policy = policy_of(connection, last_crawl(connection))
    with opening.changing_under(store, policy) as changing:
        yield changing

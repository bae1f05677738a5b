"""Change the policy of a store: find policies, check that no crawl runs, and apply its rules."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import msgspec
from sqlalchemy import Connection, select

from canonry.canon import Canonicalizer, Policy, PolicyError
from canonry.canon.pipeline import merging_rules
from canonry.crawler import opening
from canonry.crawler.admission.scope import host_of
from canonry.crawler.admission.url_filter import is_fetched
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.crawler.run.job.lease_owners import has_ended, is_alive_here
from canonry.storage import StoreError, facts
from canonry.storage.copying import (
    Changed,
    Forecast,
    NewPolicy,
    Target,
    change,
    forecast,
)
from canonry.storage.facts import check_unserved, read_facts
from canonry.storage.learned import applied_rules
from canonry.storage.learned.classes import LEARNED, release
from canonry.storage.reading import report
from canonry.storage.sql.schema import State, aliases, hosts, jobs, urls

_Advance = Callable[[int, int], None]


def made_under(store: str) -> str:
    """Return ``name/version`` of the policy of a store's keys.

    Raises:
        StoreError: if there is no store that can be read.
    """
    with report.reading(store) as connection:
        return read_facts(connection)["policy"]


def change_policy(
    store: str, policy: Policy, notify: Callable[[str], None], advance: _Advance
) -> Changed:
    """Change the policy of a store; see `canonry.storage.copying`.

    Args:
        store: a SQLAlchemy URL.
        policy: the new one.
        notify: receives sentences for people.
        advance: receives numbers of rows: done since the last call, and in all.

    Raises:
        StoreError: if a crawl uses the store, or the database fails.
    """
    return change(store, _new_policy(store, policy), notify, advance)


def foresee_change(store: str, policy: Policy, advance: _Advance) -> Forecast:
    """Return what `change_policy` would do, without writing to the store."""
    return forecast(store, _new_policy(store, policy), advance)


def _new_policy(store: str, policy: Policy) -> NewPolicy:
    """Return the functions with which the store changes its policy."""
    make, old = Canonicalizer(policy), None
    with suppress(StoreError, PolicyError):  # the file of a user's old policy may be gone
        old = Canonicalizer(opening.policy_of_label(made_under(store), None))
    return NewPolicy(
        new=make,
        old=old,
        read=partial(_target, make),
        merging_rules=partial(merging_rules, make),
        check=_check_unused,
        learned=partial(_apply_rules, make),
    )


def _target(make: Canonicalizer, text: str) -> Target:
    """Return the URL that a text stands for, its host, and why it is held, if it is."""
    url = make(text).url
    return Target(url, host_of(url), None if is_fetched(url) else HoldReason.SCHEME.label)


def _check_unused(connection: Connection) -> None:
    """Refuse a store that a crawl or a frontier uses.

    A crawl on another machine without a lease is not found. It notices the change at its next step,
    and stops.

    Raises:
        StoreError: naming the crawl.
    """
    check_unserved(connection)
    running = select(jobs.c.settings).where(jobs.c.state == "running")
    workers = [msgspec.json.decode(text).get("worker", "") for text in connection.scalars(running)]
    leased = select(hosts.c.holder).where(hosts.c.held_until > time.time()).distinct()
    owners = [owner for owner in connection.scalars(leased) if owner and not has_ended(owner)]
    using = [worker for worker in workers if is_alive_here(worker)] + owners
    if using:
        raise StoreError(f"a crawl uses it ({using[0]}); stop that first, or wait for its end")


def _apply_rules(make: Canonicalizer, connection: Connection) -> None:
    """Choose the representatives again, by the learned rules and the new keys.

    Only the URLs of hosts that rules join are in memory at once.
    """
    in_force = RulesInForce.load(connection, make)
    done: set[str] = set()
    for rule in in_force.known:
        names = in_force.hosts_of(connection, rule.rewrite)
        if not names <= done:
            applied_rules.apply_rules(
                connection, names, in_force.change_all, in_force.rewrite_all_held, time.time()
            )
            done |= names
    for url_ids in _held_by_nothing(connection):
        release(connection, url_ids)
    facts.advance(connection, facts.RULES)


def _held_by_nothing(connection: Connection) -> Iterator[list[int]]:
    """Yield the ids of URLs that are held by a rule, but have no alias to another any more."""
    leads = select(aliases.c.id).where(aliases.c.from_id == urls.c.id, aliases.c.kind == "rule")
    query = select(urls.c.id).where(urls.c.state == State.HELD, urls.c.reason == LEARNED)
    query = query.where(~leads.exists()).limit(10_000)
    while url_ids := list(connection.scalars(query)):
        yield url_ids

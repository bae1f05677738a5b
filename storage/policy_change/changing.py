"""Changing the policy of a store: new keys are made in steps, then put in place at once.

First the new key of every URL is written into a work table, in many transactions. The store itself
stays unchanged; if the process is killed, the next one goes on from the work table. Then one
transaction merges the URLs that share a key now, and puts the new keys in place.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Column, Connection, Engine, func, select

from canonry.canon import Canonicalizer
from canonry.storage.facts import read_facts
from canonry.storage.policy_change import swap, worktables
from canonry.storage.policy_change.examples import Forecast, foresee
from canonry.storage.policy_change.new_keys import (
    Policies,
    fill,
    fill_links,
    fill_urls,
    rekey_requests,
)
from canonry.storage.rows import pages
from canonry.storage.sql.database_faults import explaining, naming
from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.schema import urls
from canonry.storage.sql.store_errors import StoreError

_Fill = Callable[[Connection, Connection, Policies], int]


class NewPolicy(NamedTuple):
    """The policies of a change, and what the crawler contributes to it."""

    new: Canonicalizer
    old: Canonicalizer | None  # None: its file is not known
    read: swap.Read  # what to request for a target that becomes a URL of its own
    merging_rules: Callable[[str, str], str]  # the rules that merge two spellings
    check: Callable[[Connection], None]  # raises if a crawl uses the store
    learned: Callable[[Connection], None]  # applies learned rules to the new keys


class Changed(NamedTuple):
    """What a change did."""

    urls: int  # before
    merged: int  # URLs that became one with another
    split: int  # targets that became URLs of their own
    continued: bool  # it went on from an earlier try


def change(
    url: str, plan: NewPolicy, notify: Callable[[str], None], progress: Callable[[int, int], None]
) -> Changed:
    """Change the policy of a store, whole or not at all.

    Args:
        url: a SQLAlchemy URL.
        plan: the policies, and the crawler's part.
        notify: receives sentences for people.
        progress: receives how many URLs have new keys, and how many there are.

    Raises:
        StoreError: if a crawl uses the store, or the database fails.
    """
    engine = open_engine(url, create=False)
    policy = plan.new.policy
    policies = Policies(plan.new, plan.old)
    try:
        with explaining(engine, "nothing is lost: the same command goes on from here"):
            with engine.begin() as connection, naming(engine):
                plan.check(connection)
                continued = worktables.prepare(connection, f"{policy.label} {policy.fingerprint}")
                number = _number(connection)
                before = _number(connection, worktables.new_keys.c.url_id)
            if before:
                notify(f"going on after {before:,} URLs")
            for more in fill(lambda step: _step(engine, step, policies)):
                progress(before + more, number)
            notify("all keys are made; putting them in place")
            with engine.begin() as connection, naming(engine):
                changed = _finish(connection, plan, policies, continued=continued)
        return changed
    finally:
        engine.dispose()


def _number(connection: Connection, column: Column[int] = urls.c.id) -> int:
    """Return the number of rows of a column's table."""
    return connection.scalar(select(func.count(column))) or 0


def _step(engine: Engine, step: _Fill, policies: Policies) -> int:
    """Run one step in a transaction of its own."""
    with engine.begin() as connection:
        return step(connection, connection, policies)


def _finish(
    connection: Connection, plan: NewPolicy, policies: Policies, *, continued: bool
) -> Changed:
    """Put everything in place, in one transaction."""
    plan.check(connection)
    for step in (fill_urls, fill_links):  # of rows that were added since
        while step(connection, connection, policies):
            pass
    number = _number(connection)
    worktables.finish(connection)
    new = swap.split(connection, plan.read)
    merged = swap.merge(connection)
    tally = pages.Tally()
    for pair in swap.pairs(connection):
        if rules := plan.merging_rules(pair.spelling, pair.same_as):
            tally.add(rules, pair.spelling, pair.same_as)
    pages.put_merges(connection, tally)
    policy = plan.new.policy
    swap.apply(connection, policy.label, policy.fingerprint)
    rekey_requests(connection, policies)
    plan.learned(connection)
    worktables.drop(connection)
    return Changed(number, merged, new, continued)


def forecast(
    url: str, plan: NewPolicy, progress: Callable[[int, int], None], examples: int = 10
) -> Forecast:
    """Count what a change would do, without writing to the store; a crawl may use it meanwhile.

    The keys go to a temporary file.

    Args:
        url: a SQLAlchemy URL.
        plan: the policies, and the crawler's part.
        progress: as for `change`.
        examples: how many to return of each kind.

    Raises:
        StoreError: if there is no store, or the database fails.
    """
    engine = open_engine(url, read_only=True)
    policies = Policies(plan.new, plan.old)
    with tempfile.TemporaryDirectory(prefix="canonry-") as folder:
        work = open_engine(f"sqlite:///{Path(folder) / 'keys.db'}")
        try:
            with explaining(engine), engine.begin() as source, work.begin() as target:
                with naming(engine):
                    if read_facts(source)["policy"] == plan.new.policy.label:
                        raise StoreError(f"its policy is {plan.new.policy.versioned_name} already")
                worktables.create(target)
                number = _number(source)
                for done in fill(lambda step: step(source, target, policies)):
                    progress(done, number)
                worktables.index(target)
                return foresee(source, target, plan.new, plan.merging_rules, examples)
        finally:
            work.dispose()
            engine.dispose()

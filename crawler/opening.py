"""Open stores by the names that users give, under the policies of their keys."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from sqlalchemy import Connection

from canonry.canon import Canonicalizer, Policy, RuleSet
from canonry.canon.pipeline import merging_rules
from canonry.canon.policies import preset, released, versioned_name
from canonry.crawler.lookup import Lookup
from canonry.crawler.named_policies import DEFAULT_POLICY, find_policy
from canonry.storage import Store, StoreError
from canonry.storage.facts import another_policy, recorded_policy
from canonry.storage.reading import report
from canonry.storage.sql.engine import read_url, without_password
from canonry.storage.sql.sqlite_engine import file_of


def file_of_store(store: str) -> str | None:
    """Return the file of a store; None if its database is not a file.

    Raises:
        StoreURLError: if it names no store.
    """
    file = file_of(read_url(store))
    return None if file is None else str(file)


def silent(_message: str) -> None:
    """Notify nobody."""


def policy_for(store: str, policy: str | None) -> Policy:
    """Return the policy to open a store with: that of its keys, or the one for a new store.

    Args:
        store: a SQLAlchemy URL.
        policy: as for `canonry.crawler.named_policies.find_policy`. A preset without a version
            means the version of the store. None means the store's policy, and the default for a
            store that is not there yet.

    Raises:
        PolicyError: for a name that names no policy.
        StoreError: if the store's keys were made under another policy.
    """
    made = recorded_policy(store)
    if made is None:
        return find_policy(policy or DEFAULT_POLICY)
    try:
        store_policy = policy_of_label(made, policy)
    except StoreError as error:
        raise StoreError(f"store {without_password(store)}: {error}") from None
    return store_policy


def policy_for_rules(store: str, policy: str | None, rules: RuleSet) -> Policy:
    """Return the policy to open a store that gets rules; a new store takes the rules' version.

    Args:
        store: a SQLAlchemy URL.
        policy: as for `policy_for`; None means that of the rules for a store that is not there yet.
        rules: the rules that the store gets.

    Raises:
        PolicyError: for a name that names no policy.
        StoreError: if the store's keys were made under another policy.
        RulesError: if the rules were learned under another policy.
    """
    if recorded_policy(store) is None:
        name = policy or rules.policy.partition("/")[0]
        found = find_policy(name)
    else:
        found = policy_for(store, policy)
    rules.check_policy(found.label)
    return found


def preset_of_store(store: str) -> str | None:
    """Return the name of the preset that made a store's keys.

    None means that there is no store that can be read, or that its policy is not a preset.
    """
    name, _, _version = (recorded_policy(store) or "").partition("/")
    return name if name in released() else None


def policy_of_label(made: str, policy: str | None) -> Policy:
    """Return the policy under which keys were made.

    Args:
        made: ``name/version``, as stored with the keys.
        policy: as for `policy_for`.

    Raises:
        PolicyError: for a name that names no policy.
        StoreError: if the keys have another policy, or one that is not known here.
    """
    name, _, version = made.partition("/")
    if (policy is None or policy == name) and name in released():
        if version not in map(str, released()[name]):
            raise StoreError(
                f"its keys were made under policy {versioned_name(made)}, which this program does "
                f"not know: it has {', '.join(f'{name}@{one}' for one in released()[name])}; use "
                "the program that made it"
            )
        return preset(f"{name}@{version}")
    if policy is None:
        raise StoreError(
            f"its keys were made under policy {versioned_name(made)}; give its file with --policy"
        )
    found = find_policy(policy)
    if found.label != made:
        raise StoreError(another_policy(made, found.label))
    return found


@contextmanager
def open_lookup(store: str, policy: str | None) -> Iterator[Lookup]:
    """Open a store to look up canonical forms by its learned rules and aliases.

    Args:
        store: a SQLAlchemy URL.
        policy: as for `policy_for`.

    Raises:
        StoreError: if there is no store, or its keys were made under another policy.
    """
    found = policy_for(store, policy)
    with report.reading(store) as connection:
        yield Lookup(connection, found)


@contextmanager
def changing(
    store_url: str, policy: str | None, notify: Callable[[str], None]
) -> Iterator[tuple[Connection, Canonicalizer]]:
    """Open a store to change its rules: one transaction, and the canonicalizer of its policy."""
    found = policy_for(store_url, policy)
    with changing_under(store_url, found, notify) as (connection, canonicalizer):
        yield connection, canonicalizer


@contextmanager
def changing_under(
    store_url: str, policy: Policy, notify: Callable[[str], None] = silent
) -> Iterator[tuple[Connection, Canonicalizer]]:
    """Open a store as `changing` does, given its policy."""
    with report.reading(store_url):  # raises if there is no store
        pass
    with changing_or_making(store_url, policy, notify) as (connection, canonicalizer):
        yield connection, canonicalizer


@contextmanager
def changing_or_making(
    store_url: str, policy: Policy, notify: Callable[[str], None]
) -> Iterator[tuple[Connection, Canonicalizer]]:
    """Open a store as `changing_under` does; create it if there is none."""
    store = open_store(store_url, policy, notify)
    try:
        with store.transaction() as connection:
            yield connection, Canonicalizer(policy)
    finally:
        store.close()


def open_store(url: str, policy: Policy, notify: Callable[[str], None]) -> Store:
    """Open a store for keys under a policy; create it if there is none."""
    return Store(
        url,
        policy=policy.label,
        fingerprint=policy.fingerprint,
        merging_rules=partial(merging_rules, Canonicalizer(policy)),
        notify=notify,
    )

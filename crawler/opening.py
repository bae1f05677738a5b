"""Policies, rules and stores by name: by what URLs are compared, whoever asks."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection

from canonry.canon import (
    Canonical,
    Canonicalizer,
    LearnedRule,
    Policy,
    Refused,
    RulesError,
    RuleSet,
    Trace,
)
from canonry.canon.learned.ruleset import loads
from canonry.canon.policies import PolicyError, from_toml, preset
from canonry.crawler.admission.scope import is_public_suffix
from canonry.crawler.learn.lookup import Answers
from canonry.crawler.settings import SettingsError
from canonry.storage import Store, StoreError, report
from canonry.storage.store import read_facts


def find_policy(name: str) -> Policy:
    """Return a preset, or the policy in a file.

    Raises:
        PolicyError: naming the file and the key, or the presets there are.
    """
    path = Path(name)
    if path.suffix != ".toml":
        return preset(name)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"policy {name}: cannot be read: {error}") from None
    return from_toml(text, name)


def find_rules(file: str, policy: Policy) -> RuleSet:
    """Return the learned rules in a file.

    Raises:
        RulesError: naming the file and the rule.
    """
    try:
        rules = loads(Path(file).read_bytes(), file)
    except OSError as error:
        raise RulesError(f"{file}: {error.strerror}; give a file that can be read") from None
    for rule in rules.rules:
        check_scope(rule, file)
    rules.check_policy(policy.label)
    return rules


def check_scope(rule: LearnedRule, source: str) -> None:
    """Refuse a rule for all hosts below a public suffix: they belong to different people.

    Raises:
        RulesError: naming the rule.
    """
    if rule.subdomains and is_public_suffix(rule.host):
        raise RulesError(
            f"{source}: rule {rule.id} ({rule.family} on {rule.host}): the hosts below that are "
            "different people's (Public Suffix List); 'subdomains' needs a registrable domain"
        )


def canonicalizer(policy: str, rules_file: str | None) -> Canonicalizer:
    """Return the canonicalizer of a policy, and of the rules in a file where one is given."""
    found = find_policy(policy)
    return Canonicalizer(found, find_rules(rules_file, found) if rules_file else None)


def canonicals(
    urls: Iterable[str | bytes],
    base: str | None,
    policy: str,
    rules_file: str | None,
    store: str | None,
) -> Iterator[Canonical | Refused]:
    """Yield what URLs come to, by rules in a file, or by what a store has learned.

    Raises:
        SettingsError: where both are given.
    """
    if store is None:
        yield from canonicalizer(policy, rules_file).many(urls, base)
        return
    with _answers(store, policy, rules_file) as answers:
        for url in urls:
            yield answers.canonical(url, base)


def explain(
    url: str, base: str | None, policy: str, rules_file: str | None, store: str | None
) -> Trace:
    """Return which rule did what to a URL, by rules in a file, or by what a store has learned.

    Raises:
        InvalidURL: when it is no URL.
        SettingsError: where both are given.
    """
    if store is None:
        return canonicalizer(policy, rules_file).explain(url, base)
    with _answers(store, policy, rules_file) as answers:
        return answers.explain(url, base)


@contextmanager
def _answers(store: str, policy: str, rules_file: str | None) -> Iterator[Answers]:
    """Open a store for answers about URLs."""
    if rules_file is not None:
        raise SettingsError("--rules and --store: a store has rules of its own; give one of them")
    found = find_policy(policy)
    with report.reading(store) as connection:
        made = read_facts(connection)["policy"]
        if made != found.label:
            raise StoreError(
                f"store {store}: its keys were made under policy {made}, not {found.label}; "
                f"give --policy {made.partition('/')[0]}"
            )
        yield Answers(connection, found)


@contextmanager
def changing(
    store_url: str, policy: str, notify: Callable[[str], None]
) -> Iterator[tuple[Connection, Canonicalizer]]:
    """Open a store for one change of its rules: a transaction, and what makes its identities."""
    found = find_policy(policy)
    with report.reading(store_url):  # it has to be there
        pass
    store = open_store(store_url, found, notify)
    try:
        with store.transaction() as connection:
            yield connection, Canonicalizer(found)
    finally:
        store.close()


def open_store(url: str, policy: Policy, notify: Callable[[str], None]) -> Store:
    """Open a store for keys under a policy."""
    return Store(url, policy=policy.label, fingerprint=policy.fingerprint, notify=notify)

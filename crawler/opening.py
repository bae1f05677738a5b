"""Open policies, rules and stores by the names that users give."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from sqlalchemy import Connection

from canonry.canon import Canonicalizer, LearnedRule, Policy, RulesError, RuleSet
from canonry.canon.learned import loads
from canonry.canon.pipeline import merging_rules
from canonry.canon.policies import PolicyError, from_toml, preset
from canonry.crawler.admission.scope import is_public_suffix
from canonry.crawler.learn.lookup import Lookup
from canonry.crawler.settings import SettingsError
from canonry.storage import Store, StoreError, report
from canonry.storage.facts import read_facts
from canonry.storage.sql.engine import shown


def find_policy(name: str) -> Policy:
    """Return a preset, or the policy in a TOML file.

    Raises:
        PolicyError: names the file and the key, or the presets that exist.
    """
    path = Path(name)
    if path.suffix != ".toml":
        return preset(name)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"policy {name}: cannot be read: {error}") from None
    return from_toml(text, name)


def warnings_for(policy: Policy) -> Iterator[str]:
    """Yield what to tell somebody who lets a policy decide which pages are fetched or kept."""
    if policy.name == "archive" or "decode-escapes" in policy.practice:
        yield (
            f"warning: policy {policy.label} is for look-ups in the indexes of web archives; it "
            "takes different pages for one, so some are skipped. Use --policy web or --policy "
            "search; for the keys of archives: canonry canon --policy archive --format surt"
        )


def find_rules(file: str, policy: Policy) -> RuleSet:
    """Return the learned rules in a file.

    Raises:
        RulesError: names the file and the rule.
    """
    try:
        rules = loads(Path(file).read_bytes(), file)
    except OSError as error:
        raise RulesError(f"{file}: {error.strerror}; give a file that can be read") from None
    for rule in rules.rules:
        _check_host(rule, file)
    rules.check_policy(policy.label)
    return rules


def _check_host(rule: LearnedRule, source: str) -> None:
    """Refuse a rule for all hosts below a public suffix: they belong to different people."""
    if rule.subdomains and is_public_suffix(rule.host):
        raise RulesError(
            f"{source}: rule {rule.id} ({rule.family} on {rule.host}): {rule.host} is a public "
            "suffix, so its subdomains have different owners; 'subdomains' needs a registrable "
            "domain"
        )


def canonicalizer(policy: str, rules_file: str | None) -> Canonicalizer:
    """Return a canonicalizer for a policy and, if a file is given, its rules."""
    found = find_policy(policy)
    return Canonicalizer(found, find_rules(rules_file, found) if rules_file else None)


@contextmanager
def open_canonicalizer(
    policy: str, rules_file: str | None, store: str | None
) -> Iterator[Canonicalizer | Lookup]:
    """Open what makes canonical forms: a policy, and rules from a file or from a store.

    Args:
        policy: a preset's name, or a TOML file.
        rules_file: learned rules in a file.
        store: a SQLAlchemy URL. Its learned rules apply, and its aliases.

    Raises:
        SettingsError: if both a file and a store are given.
        StoreError: if there is no store, or its keys were made under another policy.
    """
    if store is None:
        yield canonicalizer(policy, rules_file)
        return
    if rules_file is not None:
        raise SettingsError("--rules and --store: a store has rules of its own; give one of them")
    found = find_policy(policy)
    with report.reading(store) as connection:
        made = read_facts(connection)["policy"]
        if made != found.label:
            raise StoreError(
                f"store {shown(store)}: its keys were made under policy {made}, not "
                f"{found.label}; give --policy {made.partition('/')[0]}"
            )
        yield Lookup(connection, found)


@contextmanager
def changing(
    store_url: str, policy: str, notify: Callable[[str], None]
) -> Iterator[tuple[Connection, Canonicalizer]]:
    """Open a store to change its rules: one transaction, and the canonicalizer of its policy."""
    found = find_policy(policy)
    with report.reading(store_url):  # raises if there is no store
        pass
    store = open_store(store_url, found, notify)
    try:
        with store.transaction() as connection:
            yield connection, Canonicalizer(found)
    finally:
        store.close()


def open_store(url: str, policy: Policy, notify: Callable[[str], None]) -> Store:
    """Open a store, or make one, for keys under a policy."""
    return Store(
        url,
        policy=policy.label,
        fingerprint=policy.fingerprint,
        merging_rules=partial(merging_rules, Canonicalizer(policy)),
        notify=notify,
    )

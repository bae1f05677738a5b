"""Open policies, rules and stores by the names that users give."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from sqlalchemy import Connection

from canonry.canon import Canonicalizer, LearnedRule, Policy, RulesError, RuleSet
from canonry.canon.learned import loads
from canonry.canon.pipeline import merging_rules
from canonry.canon.policies import PolicyError, from_toml, of_version, preset, released
from canonry.crawler.admission.scope import is_public_suffix
from canonry.crawler.learn.lookup import Lookup
from canonry.crawler.settings import SettingsError
from canonry.storage import Store, StoreError, report
from canonry.storage.facts import another_policy, recorded_policy
from canonry.storage.sql.engine import shown

DEFAULT_POLICY = "web"


def _silent(_message: str) -> None:
    """Notify nobody."""


def find_policy(name: str) -> Policy:
    """Return a preset, such as ``web`` or ``web@1``, or the policy in a TOML file.

    Raises:
        PolicyError: names the file and the key, or the presets that exist.
    """
    path = Path(name)
    if path.suffix != ".toml":
        return preset(name)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise PolicyError(f"policy {name}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
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
    """Return the learned rules in a file, which have to be of a policy.

    Raises:
        RulesError: names the file and the rule.
    """
    rules = read_rules(file)
    rules.check_policy(policy.label)
    return rules


def read_rules(file: str) -> RuleSet:
    """Return the learned rules in a file, of whatever policy.

    Raises:
        RulesError: names the file and the rule.
    """
    try:
        rules = loads(Path(file).read_bytes(), file)
    except OSError as error:
        raise RulesError(f"{file}: {error.strerror}; give a file that can be read") from None
    for rule in rules.rules:
        _check_host(rule, file)
    return rules


def _check_host(rule: LearnedRule, source: str) -> None:
    """Refuse a rule for all hosts below a public suffix: they belong to different people."""
    if rule.subdomains and is_public_suffix(rule.host):
        raise RulesError(
            f"{source}: rule {rule.id} ({rule.family} on {rule.host}): {rule.host} is a public "
            "suffix, so its subdomains have different owners; 'subdomains' needs a registrable "
            "domain"
        )


def canonicalizer(
    policy: str | None, rules_file: str | None, notify: Callable[[str], None] = _silent
) -> Canonicalizer:
    """Return a canonicalizer for a policy and, if a file is given, its rules.

    Args:
        policy: as for `find_policy`. A preset without a version means the version of the rules, if
            they are of that preset; None means their policy. Without rules, None is the default.
        rules_file: learned rules in a file.
        notify: receives a sentence for people if there is a newer version than that of the rules.
    """
    if rules_file is None:
        return Canonicalizer(find_policy(policy or DEFAULT_POLICY))
    rules = read_rules(rules_file)
    name = policy or rules.policy.partition("/")[0]
    found = find_policy(of_version(name, rules.policy))
    rules.check_policy(found.label)
    if newer := newer_version(found):
        notify(
            f"canonry: {rules_file}: its rules are of policy {found.label}; {newer} is the current "
            "version. Rules of that version come from a store that 'canonry upgrade' has changed"
        )
    return Canonicalizer(found, rules)


def newer_version(policy: Policy) -> str:
    """Return the current version of a preset, such as ``web@2``; "" if this is it."""
    versions = released().get(policy.name, (policy.version,))
    return f"{policy.name}@{versions[-1]}" if policy.version < versions[-1] else ""


def policy_for(store: str, policy: str | None, notify: Callable[[str], None]) -> Policy:
    """Return the policy to open a store with: the one that it was made with, or a new store's.

    Args:
        store: a SQLAlchemy URL.
        policy: as for `find_policy`. A preset without a version means the version of the store.
            None means the store's policy, and the default for a store that is not there yet.
        notify: receives a sentence for people if there is a newer version.

    Raises:
        PolicyError: for a name that names no policy.
        StoreError: if the store's keys were made under another policy.
    """
    made = recorded_policy(store)
    if made is None:
        return find_policy(policy or DEFAULT_POLICY)
    try:
        found = policy_of_label(made, policy)
    except StoreError as error:
        raise StoreError(f"store {shown(store)}: {error}") from None
    if newer := newer_version(found):
        notify(
            f"canonry: store {shown(store)}: its keys are of policy {found.label}, and so are new "
            f"ones; {newer} is the current version. To change all of them: canonry upgrade "
            f"--policy {found.name} --store {shown(store)}"
        )
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
        StoreError: if that is another policy, or one that is not known here.
    """
    name, _, version = made.partition("/")
    if (policy is None or policy == name) and name in released():
        if version not in map(str, released()[name]):
            raise StoreError(
                f"its keys were made under policy {made}, which this program does not know: it has "
                f"{', '.join(f'{name}@{one}' for one in released()[name])}; use the program that "
                "made it"
            )
        return preset(f"{name}@{version}")
    if policy is None:
        raise StoreError(f"its keys were made under policy {made}; give its file with --policy")
    found = find_policy(policy)
    if found.label != made:
        raise StoreError(another_policy(made, found.label))
    return found


@contextmanager
def open_canonicalizer(
    policy: str | None,
    rules_file: str | None,
    store: str | None,
    notify: Callable[[str], None],
) -> Iterator[Canonicalizer | Lookup]:
    """Open what makes canonical forms: a policy, and rules from a file or from a store.

    Args:
        policy: a preset's name, or a TOML file; None as for `canonicalizer` and `policy_for`.
        rules_file: learned rules in a file.
        store: a SQLAlchemy URL. Its learned rules apply, and its aliases.
        notify: receives a sentence for people if there is a newer version of the policy.

    Raises:
        SettingsError: if both a file and a store are given.
        StoreError: if there is no store, or its keys were made under another policy.
    """
    if store is None:
        yield canonicalizer(policy, rules_file, notify)
        return
    if rules_file is not None:
        raise SettingsError("--rules and --store: a store has rules of its own; give one of them")
    found = policy_for(store, policy, notify)
    with report.reading(store) as connection:
        yield Lookup(connection, found)


@contextmanager
def changing(
    store_url: str, policy: str | None, notify: Callable[[str], None]
) -> Iterator[tuple[Connection, Canonicalizer]]:
    """Open a store to change its rules: one transaction, and the canonicalizer of its policy."""
    found = policy_for(store_url, policy, notify)
    with changing_under(store_url, found, notify) as (connection, canonicalizer):
        yield connection, canonicalizer


@contextmanager
def changing_under(
    store_url: str, policy: Policy, notify: Callable[[str], None] = _silent
) -> Iterator[tuple[Connection, Canonicalizer]]:
    """Do what `changing` does, for a store of a policy that is known."""
    with report.reading(store_url):  # raises if there is no store
        pass
    store = open_store(store_url, policy, notify)
    try:
        with store.transaction() as connection:
            yield connection, Canonicalizer(policy)
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

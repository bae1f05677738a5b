"""Find policies and rules by the names that users give, without a store."""

from collections.abc import Iterator
from pathlib import Path

from canonry.canon import Canonicalizer, LearnedRule, Policy, PolicyError, RulesError, RuleSet
from canonry.canon.learned import loads
from canonry.canon.policies import from_file, preset
from canonry.crawler.admission.scope import is_public_suffix

DEFAULT_POLICY = "web"
WRONG_ENDING = "the name of a policy's file has to end in .toml"


def find_policy(name: str) -> Policy:
    """Return a preset, such as ``web`` or ``web@1``, or the policy in a TOML file.

    Raises:
        PolicyError: names the file and the key, or the presets that exist.
    """
    file = policy_file(name)
    if file is not None:
        return from_file(Path(file))
    try:
        return preset(name)
    except PolicyError:
        if not Path(name).is_file():
            raise
        raise PolicyError(f"policy {name}: {WRONG_ENDING}; rename it") from None


def policy_file(name: str | None) -> str | None:
    """Return the name of a policy if it is that of a TOML file, else None."""
    return name if name is not None and Path(name).suffix == ".toml" else None


def warnings_for(policy: Policy) -> Iterator[str]:
    """Yield warnings for a policy that is unfit to decide which pages are fetched or kept."""
    if policy.name == "archive" or "decode-escapes" in policy.practice:
        yield (
            f"warning: policy {policy.versioned_name} is for look-ups in the indexes of web "
            "archives; it takes different pages for one, so some are skipped. Use --policy web "
            "or --policy search; for the keys of archives: canonry canon --policy archive "
            "--format surt"
        )


def find_rules(file: str, policy: Policy) -> RuleSet:
    """Return the learned rules in a file; refuse rules of another policy.

    Raises:
        RulesError: names the file and the rule.
    """
    rules = read_rules(file)
    rules.check_policy(policy.label)
    return rules


def read_rules(file: str) -> RuleSet:
    """Return the learned rules in a file, of any policy.

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
    """Refuse a rule for all hosts below a public suffix, which have different owners."""
    if rule.subdomains and is_public_suffix(rule.host):
        raise RulesError(
            f"{source}: rule {rule.id} ({rule.family} on {rule.host}): {rule.host} is a public "
            "suffix, so its subdomains have different owners; 'subdomains' needs a registrable "
            "domain"
        )


def canonicalizer(policy: str | None, rules_file: str | None) -> Canonicalizer:
    """Return a canonicalizer for a policy and, if a file is given, its rules.

    Args:
        policy: as for `find_policy`; None means that of the rules, or without rules the default.
        rules_file: learned rules in a file.
    """
    if rules_file is None:
        return Canonicalizer(find_policy(policy or DEFAULT_POLICY))
    rules = read_rules(rules_file)
    name = policy or rules.policy.partition("/")[0]
    chosen_policy = find_policy(name)
    rules.check_policy(chosen_policy.label)
    return Canonicalizer(chosen_policy, rules)

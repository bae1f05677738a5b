"""A learned rule as users see it, and the JSON in which rules are kept and shared."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Literal, get_args

import msgspec
from msgspec.structs import astuple

from canonry.canon.learned.rewrite import Rewrite, to_fields
from canonry.canon.learned.validate import fault

RuleState = Literal["candidate", "active", "suspended", "revoked"]
RULE_STATES: tuple[RuleState, ...] = get_args(RuleState)
FORMAT, VERSION = "canonry-rules", 1
_KEYS = ("format", "version", "policy", "rules")


class RulesError(ValueError):
    """Rules that cannot be used; the message names the source, the rule, and what is allowed."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a rule rests on. Counts are of classes of URLs; times are seconds since 1970, UTC."""

    agree: int = 0
    disagree: int = 0
    first_seen: float | None = None
    last_seen: float | None = None
    samples: tuple[tuple[str, str], ...] = ()  # a URL, and the URL that it was found to equal
    against: tuple[tuple[str, str], ...] = ()  # a URL, and what was found instead


class LearnedRule(Rewrite, frozen=True, kw_only=True, dict=True):
    """A rewrite with its state and its evidence. Only rules in state ``active`` are applied."""

    state: RuleState = "active"
    evidence: Evidence = Evidence()

    @cached_property
    def rewrite(self) -> Rewrite:
        """Return what the rule says, without state and evidence."""
        return Rewrite(*astuple(self)[: len(Rewrite.__struct_fields__)])

    @cached_property
    def id(self) -> str:
        """Return the rule's id: ten hexadecimal digits of a digest of what it says."""
        return self.rewrite.id


def encode(rules: Iterable[LearnedRule], policy: str) -> str:
    """Return rules as the text of a file.

    Args:
        rules: in the order in which the file lists them.
        policy: ``name/version`` of the policy whose identities they were learned on.
    """
    written = [{"id": rule.id, **to_fields(rule, always=("state",))} for rule in rules]
    whole = {"format": FORMAT, "version": VERSION, "policy": policy, "rules": written}
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode() + "\n"


def decode(text: str | bytes, source: str) -> tuple[Iterator[LearnedRule], str]:
    """Return the rules in the text of a file, and the label of their policy.

    Args:
        text: JSON.
        source: what to call it in errors.

    Raises:
        RulesError: naming the source, the rule, what is wrong, and what is allowed; for a rule,
            when the iterator reaches it.
    """
    try:
        document = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RulesError(f"{source}: not JSON: {error}; 'canonry rules export' writes it") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise RulesError(f"{source}: no rules: key 'format' has to be {FORMAT!r}")
    if document.get("version") != VERSION:
        raise RulesError(f"{source}: key 'version': this program reads version {VERSION}")
    if unknown := document.keys() - set(_KEYS):
        raise RulesError(f"{source}: no key {min(unknown)!r}; allowed: {', '.join(_KEYS)}")
    policy, rules = document.get("policy"), document.get("rules")
    if not isinstance(policy, str) or not isinstance(rules, list):
        raise RulesError(f"{source}: 'policy' has to be a text such as 'web@1', 'rules' a list")
    return _rules(rules, source), policy


def _rules(rules: list[Any], source: str) -> Iterator[LearnedRule]:
    """Yield the rules of a file; raise for the first that is not valid."""
    allowed = ", ".join(LearnedRule.__struct_fields__)
    for number, given in enumerate(rules, 1):
        where = f"{source}: rule {number}"
        if not isinstance(given, Mapping):
            raise RulesError(f"{where}: it has to be an object with the keys {allowed}")
        named = given.get("id")
        fields = {key: value for key, value in given.items() if key != "id"}
        try:
            rule = msgspec.convert(fields, LearnedRule)
        except msgspec.ValidationError:
            from canonry.canon.policies.allowed import fault_among  # noqa: PLC0415 - for errors

            shown = f"{where} ({named})" if named else where
            key, words = fault_among(fields, LearnedRule) or ("", "it is no rule")
            raise RulesError(f"{shown}: key {key!r}: {words}") from None
        if wrong := fault(rule):
            raise RulesError(f"{where}: {wrong}")
        if named not in (None, rule.id):
            raise RulesError(
                f"{where}: it does not say what it said when it got the id {named!r}; "
                "leave 'id' out when you change a rule"
            )
        yield rule

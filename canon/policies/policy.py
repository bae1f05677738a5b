"""Policies: frozen data, with a name and a version, that says which rules make the identity."""

from typing import Literal

import msgspec
from msgspec.structs import force_setattr

from canonry.canon.arguments import check_several, check_text, wrong_type
from canonry.canon.rules.rule import Parameters
from canonry.canon.rules.table import DIALECTS, PRACTICE, STEPS, Step

LISTS = Parameters._fields  # the lists that rules read
_MAX_NAME = 48


class PolicyError(ValueError):
    """An invalid policy; the message names the source, the key and what is allowed."""


def versioned_name(label: str) -> str:
    """Return the name by which people give a policy, such as ``web@1`` for ``web/1``."""
    return label.replace("/", "@")


def label_of(name: str) -> str:
    """Return the label that is in keys and files, such as ``web/1`` for ``web@1``."""
    return name.replace("@", "/")


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which rules make the identity, and the lists that they read.

    The dialect's lossless rules always run; ``practice`` names the heuristics to run as well. The
    name and the version go into every key: they must always mean the same rules.
    """

    name: str
    version: int
    dialect: Literal["rfc3986", "whatwg", "rfc2396bis-01"] = "whatwg"
    practice: frozenset[str] = frozenset()
    tracking: frozenset[str] = frozenset()  # names of parameters, in lower case
    tracking_prefixes: tuple[str, ...] = ()
    session: frozenset[str] = frozenset()  # names of parameters, in lower case
    index_files: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Make the lists what they are declared to be.

        Raises:
            TypeError: a value has a wrong type; a single text is no list of them.
        """
        check_text("policy key 'name'", self.name)
        if type(self.version) is not int:
            raise wrong_type("policy key 'version'", self.version, "int")
        for key in ("practice", *LISTS):
            given = getattr(self, key)
            check_several(f"policy key {key!r}", given, "names")
            names = tuple(given)
            for name in names:
                check_text(f"a name in policy key {key!r}", name)
            force_setattr(self, key, names if key == "tracking_prefixes" else frozenset(names))

    @property
    def label(self) -> str:
        """Return ``name/version``, which goes into the key."""
        return f"{self.name}/{self.version}"

    @property
    def versioned_name(self) -> str:
        """Return ``name@version``, by which people give the policy."""
        return versioned_name(self.label)

    @property
    def lists(self) -> Parameters:
        """Return the lists that rules read."""
        return Parameters(self.tracking, self.tracking_prefixes, self.session, self.index_files)

    def steps(self) -> tuple[Step, ...]:
        """Return the steps that this policy runs, in order, with its lists bound to them."""
        chosen = (s for s in STEPS if s.lossless or s.name in self.practice)
        return tuple(s.bound(self.lists) for s in chosen if self.dialect in s.dialects)

    @property
    def fingerprint(self) -> str:
        """Return 16 hexadecimal digits that change whenever anything in the policy changes."""
        import hashlib  # noqa: PLC0415 - loads OpenSSL, and few programs ask for fingerprints

        given = msgspec.json.encode(self, order="deterministic")
        return hashlib.blake2b(given, digest_size=8).hexdigest()


def check_policy(policy: Policy, source: str) -> None:
    """Refuse what types cannot exclude: names that do not fit a key, rules that do not exist.

    Raises:
        PolicyError: naming the source, the key and what is allowed.
    """
    if found := fault_of(policy):
        key, fault = found
        message = f"{source}: key {key!r}: {fault}"
        raise PolicyError(message)


def fault_of(policy: Policy) -> tuple[str, str] | None:
    """Return the first key with an invalid value, and what is allowed; None if all are valid."""
    name = policy.name
    if not (0 < len(name) <= _MAX_NAME and name.isascii() and not set("/@") & set(name)):
        return "name", f"1 to {_MAX_NAME} ASCII characters without '/' and '@' are allowed"
    if policy.version < 1:
        return "version", "it has to be a whole number, 1 or more"
    if policy.dialect not in DIALECTS:
        return "dialect", f"the dialects allowed are {', '.join(DIALECTS)}"
    if unknown := sorted(policy.practice - PRACTICE):
        rules = ", ".join(sorted(PRACTICE))
        return "practice", f"no rule {unknown[0]!r}; the rules allowed are {rules}"
    return None


def differences(base: Policy, policy: Policy) -> dict[str, tuple[list[str], list[str]]]:
    """Return, by key, what a policy adds to its base and what it leaves out."""
    changes: dict[str, tuple[list[str], list[str]]] = {}
    for key in ("practice", *LISTS):
        old, new = set(getattr(base, key)), set(getattr(policy, key))
        if old != new:
            changes[key] = sorted(new - old), sorted(old - new)
    if base.dialect != policy.dialect:
        changes["dialect"] = [policy.dialect], [base.dialect]
    return changes

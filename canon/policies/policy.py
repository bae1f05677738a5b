"""Policies: frozen data, with a name and a version, that says which rules make the identity."""

from functools import cache
from typing import Any, Literal

import msgspec
from msgspec.structs import force_setattr

from canonry.canon.arguments import check_several, check_text, wrong_type
from canonry.canon.policies.presets import preset_names, read_shipped
from canonry.canon.rules.parameters import Parameters
from canonry.canon.rules.table import DIALECTS, PRACTICE, STEPS, Step


class PolicyError(ValueError):
    """An invalid policy; the message names the source, the key and what is allowed."""


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which rules make the identity, and the lists that they read.

    The dialect's lossless rules always run; ``practice`` names the guesses to run as well. The name
    and the version go into every key: they must always mean the same rules.
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
        for key in ("practice", "tracking", "tracking_prefixes", "session", "index_files"):
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

    def steps(self) -> tuple[Step, ...]:
        """Return the steps that this policy runs, in order, with its lists bound to them."""
        lists = Parameters(self.tracking, self.tracking_prefixes, self.session, self.index_files)
        chosen = (s for s in STEPS if s.lossless or s.name in self.practice)
        return tuple(s.bound(lists) for s in chosen if self.dialect in s.dialects)

    @property
    def fingerprint(self) -> str:
        """Return 16 hexadecimal digits that change whenever anything in the policy changes."""
        import hashlib  # noqa: PLC0415 - loads OpenSSL, and few programs ask for fingerprints

        content = msgspec.json.encode(self, order="deterministic")
        return hashlib.blake2b(content, digest_size=8).hexdigest()


_MAX_NAME = 48


def from_toml(text: str, source: str) -> Policy:
    """Read a policy.

    Args:
        text: TOML with the keys of `Policy`. A file that has ``practice`` gets the lists of the
            presets for those that it leaves out.
        source: its name in errors, such as the file's name.

    Raises:
        PolicyError: naming the source, the line or the key, and what is allowed.
        TypeError: it is not a ``str``.
    """
    check_text("a policy", text)
    import tomllib  # noqa: PLC0415 - only when a policy is read: `import canonry` stays light

    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = f"{source}: not TOML: {error}"
        raise PolicyError(message) from None
    if "practice" in given:
        given = _lists() | given
    try:
        policy = msgspec.convert(given, Policy)
    except msgspec.ValidationError:
        from canonry.canon.policies.allowed import fault_among  # noqa: PLC0415 - only for errors

        message = f"{source}: {fault_among(given, Policy)}"
        raise PolicyError(message) from None
    check_policy(policy, source)
    return policy


def check_policy(policy: Policy, source: str) -> None:
    """Refuse what the types allow: names that do not fit a key, rules that do not exist.

    Raises:
        PolicyError: naming the source, the key and what is allowed.
    """
    if not (0 < len(policy.name) <= _MAX_NAME and policy.name.isascii() and "/" not in policy.name):
        message = f"{source}: key 'name': 1 to {_MAX_NAME} ASCII characters without '/' are allowed"
        raise PolicyError(message)
    if policy.version < 1:
        message = f"{source}: key 'version': it has to be a whole number, 1 or more"
        raise PolicyError(message)
    if policy.dialect not in DIALECTS:
        message = f"{source}: key 'dialect': the dialects allowed are {', '.join(DIALECTS)}"
        raise PolicyError(message)
    if unknown := sorted(policy.practice - PRACTICE):
        rules = ", ".join(sorted(PRACTICE))
        message = f"{source}: key 'practice': no rule {unknown[0]!r}; the rules allowed are {rules}"
        raise PolicyError(message)


@cache
def _lists() -> dict[str, Any]:
    """Return the lists that the presets share."""
    import tomllib  # noqa: PLC0415 - as in `from_toml`

    return tomllib.loads(read_shipped("parameters.toml"))


def preset(name: str) -> Policy:
    """Return a policy that ships with Canonry.

    Raises:
        PolicyError: no preset has that name; the message lists their names.
        TypeError: it is not a ``str``.
    """
    check_text("the name of a preset", name)
    return _preset(name)


@cache
def _preset(name: str) -> Policy:
    """Return a preset, read once."""
    if name not in preset_names():
        message = f"no policy {name!r}; allowed: {', '.join(preset_names())}, or a file"
        raise PolicyError(message)
    return from_toml(read_shipped(f"policies/{name}.toml"), f"preset {name}")

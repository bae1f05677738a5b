"""What the commands about policies print as JSON."""

import msgspec


class PolicyJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A policy."""

    name: str
    version: int
    dialect: str
    fingerprint: str  # of its content
    rules: list[str]  # in the order in which they run
    lists: dict[str, list[str]]  # parameter names and the like


class DifferenceJSON(msgspec.Struct, frozen=True, kw_only=True):
    """How a list differs from that of the preset."""

    added: list[str]
    removed: list[str]


class CheckedPolicyJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A policy file that was checked."""

    file: str
    error: str | None  # null: it can be used
    policy: PolicyJSON | None
    differences: dict[str, DifferenceJSON]  # from the preset that it extends, by list


class PoliciesJSON(msgspec.Struct, frozen=True, kw_only=True):
    """The presets."""

    policies: list[PolicyJSON]


class CheckedPoliciesJSON(msgspec.Struct, frozen=True, kw_only=True):
    """Files of policies that were checked."""

    policies: list[CheckedPolicyJSON]

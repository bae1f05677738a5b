"""Words for people: the states of rules in sentences."""

from collections.abc import Mapping
from types import MappingProxyType

from canonry.canon.learned import RuleState

# What stands behind "it is".
IN_STATE: Mapping[RuleState, str] = MappingProxyType(
    {
        "candidate": "a candidate",
        "probation": "on probation",
        "active": "active",
        "suspended": "suspended",
        "revoked": "revoked",
        "frozen": "frozen",
    }
)

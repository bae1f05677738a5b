"""Words for people: the states of rules, and what holds them back, in sentences."""

from collections.abc import Mapping
from types import MappingProxyType

from canonry.canon.learned import RuleState
from canonry.storage.learned.tracked_rule import Hindrance

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
HELD_BACK: Mapping[Hindrance, str] = MappingProxyType(
    {
        "exceptions": "in other parts of the host where it mostly holds, some paths disagree",
        "selects": "a parameter that it drops was found to select content",
        "copies-differ": "other copies of the same directory differ from each other",
        "undecided": "of too many pages it is not known whether they are the same",
        "covered": "another rule for the whole host says the same, or the opposite",
        "parts": "the parts of the host in which it holds do not prove it yet, taken together",
        "unlike": "its pages differ more from each other than answers of one URL do",
        "chance": "this value does no better than the others, but for what may be chance",
        "unproven": "not each of its parameters is proven, alone and together with the others",
    }
)

"""Learned rules: their families, sets of them, and the checks that such a set has to pass."""

from canonry.canon.learned.actions import SESSION_SEGMENT, SLUGS
from canonry.canon.learned.families import FAMILIES, ORDER, act, describe
from canonry.canon.learned.family_fields import INDEX_FILE, INDEX_INITIALS
from canonry.canon.learned.learned_rule import RULE_STATES, Evidence, LearnedRule, RuleState
from canonry.canon.learned.prefilters import names_in
from canonry.canon.learned.rewrite import (
    Rewrite,
    is_host_name,
    is_site,
    site_in,
    site_of,
    to_fields,
    without_port,
)
from canonry.canon.learned.ruleset import RuleSet, RuleStep, follow, is_marked, loads
from canonry.canon.learned.validate import find_circle

__all__ = [
    "FAMILIES",
    "INDEX_FILE",
    "INDEX_INITIALS",
    "ORDER",
    "RULE_STATES",
    "SESSION_SEGMENT",
    "SLUGS",
    "Evidence",
    "LearnedRule",
    "Rewrite",
    "RuleSet",
    "RuleState",
    "RuleStep",
    "act",
    "describe",
    "find_circle",
    "follow",
    "is_host_name",
    "is_marked",
    "is_site",
    "loads",
    "names_in",
    "site_in",
    "site_of",
    "to_fields",
    "without_port",
]

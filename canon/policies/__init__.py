"""Policies: which rules make the identity, read from TOML."""

from canonry.canon.policies.allowed import did_you_mean, fault_among, fault_in, unknown
from canonry.canon.policies.policy import Policy, PolicyError, differences, label_of, versioned_name
from canonry.canon.policies.policy_files import extended, from_file, from_toml, preset
from canonry.canon.policies.toml_files import line_of, preset_names, read_shipped, released

__all__ = [
    "Policy",
    "PolicyError",
    "did_you_mean",
    "differences",
    "extended",
    "fault_among",
    "fault_in",
    "from_file",
    "from_toml",
    "label_of",
    "line_of",
    "preset",
    "preset_names",
    "read_shipped",
    "released",
    "unknown",
    "versioned_name",
]

"""Policies: which rules make the identity, read from TOML."""

from canonry.canon.policies.allowed import did_you_mean, fault_among, fault_in, unknown
from canonry.canon.policies.policy import Policy, PolicyError
from canonry.canon.policies.policy_files import from_toml, of_version, preset
from canonry.canon.policies.presets import preset_names, read_shipped, released

__all__ = [
    "Policy",
    "PolicyError",
    "did_you_mean",
    "fault_among",
    "fault_in",
    "from_toml",
    "of_version",
    "preset",
    "preset_names",
    "read_shipped",
    "released",
    "unknown",
]

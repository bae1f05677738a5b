"""Thresholds: how much evidence makes a rule; read from ``config/learning.toml``."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from canonry.canon.learned import FAMILIES
from canonry.canon.policies import fault_among, read_shipped
from canonry.crawler.learn.life.prior import Prior
from canonry.crawler.settings import SettingsError

_Share = Annotated[float, Meta(ge=0, le=1)]
_Seconds = Annotated[float, Meta(ge=0)]
_Paths = Annotated[int, Meta(ge=1)]
_REPLACED = {  # keys of earlier versions
    "trial": "its successors are 'trial_floor' and 'trial_alone', numbers of paths",
}


class Threshold(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The thresholds of one family; each key is explained in ``config/learning.toml``."""

    probation_floor: _Paths
    probation: _Share
    floor: _Paths
    content_floor: _Paths
    active: _Share
    part: _Share
    alone: _Share
    doubted: _Share
    trial_floor: Annotated[int, Meta(ge=0)]
    trial_alone: _Paths
    span: _Seconds
    expected: Annotated[float, Meta(ge=0.02, le=0.99)]
    strength: Annotated[float, Meta(ge=0.5, le=40)]
    hosts: Annotated[float, Meta(gt=0)]
    verified: _Share
    first: Annotated[int, Meta(ge=0)]
    verify_again: _Seconds

    @property
    def prior(self) -> Prior:
        """Return the shipped experience with the family."""
        return Prior.of(self.expected, self.strength)


class Verification(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many predictions are fetched all the same; explained in ``config/learning.toml``."""

    share: _Share
    advance: Annotated[int, Meta(ge=0)]
    early: _Share
    early_for: Annotated[int, Meta(ge=0)]
    sample: Annotated[int, Meta(ge=0)]
    sample_share: _Share
    sample_every: Annotated[int, Meta(ge=1)]


class Gate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits for rules that become active; explained in ``config/learning.toml``."""

    share: _Share
    from_: Annotated[int, Meta(ge=0)] = msgspec.field(name="from")
    class_size: Annotated[int, Meta(ge=1)]
    proven: _Share
    hosts_a_day: Annotated[int, Meta(ge=1)]


class Thresholds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The thresholds of every family, how rules are verified, and the gate."""

    family: dict[str, Threshold]
    verification: Verification
    gate: Gate

    @property
    def priors(self) -> Mapping[str, Prior]:
        """Return the shipped experience with every family."""
        return {name: limits.prior for name, limits in self.family.items()}


def load(file: str | None = None) -> Thresholds:
    """Return the default thresholds, overridden by those in a file.

    Args:
        file: path of a TOML file with the keys of ``config/learning.toml``; None for the defaults.

    Raises:
        SettingsError: naming the source, the key and what is allowed.
    """
    shipped = tomllib.loads(read_shipped("learning.toml"))
    given: dict[str, Any] = {}
    if file is not None:
        try:
            given = tomllib.loads(Path(file).read_text(encoding="utf-8"))
        except OSError as error:
            raise SettingsError(f"{file}: {error.strerror}; give a file that can be read") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsError(f"{file}: not TOML: {error}") from None
    source = file or "config/learning.toml"
    for fault in _faults(given):
        raise SettingsError(f"{source}: {fault}")
    default = shipped["default"] | given.get("default", {})
    families = {
        name: default | shipped["family"].get(name, {}) | given.get("family", {}).get(name, {})
        for name in FAMILIES
    }
    whole = {name: shipped[name] | given.get(name, {}) for name in ("verification", "gate")}
    try:
        return msgspec.convert({"family": families, **whole}, Thresholds)
    except msgspec.ValidationError:
        kinds: dict[str, type[msgspec.Struct]] = {"verification": Verification, "gate": Gate}
        named = {f"family.{name}": values for name, values in families.items()} | whole
        for name, values in named.items():
            if wrong := fault_among(values, kinds.get(name, Threshold)):
                raise SettingsError(f"{source}: [{name}]: {wrong}") from None
        raise


def _faults(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the sections and the keys of a file."""
    keys: dict[str, type[msgspec.Struct]] = {
        "default": Threshold,
        "verification": Verification,
        "gate": Gate,
        **{f"family.{name}": Threshold for name in FAMILIES},
    }
    families = given.get("family", {})
    if not isinstance(families, dict):
        yield "'family' has to be a section for each family, such as [family.www]"
        return
    others = {name: section for name, section in given.items() if name != "family"}
    sections = others | {f"family.{name}": section for name, section in families.items()}
    for name, section in sections.items():
        if name not in keys:
            yield f"no section [{name}]; allowed are {', '.join(keys)}"
        elif not isinstance(section, dict):
            yield f"'{name}' has to be a section, [{name}]"
        else:
            allowed = keys[name].__struct_encode_fields__
            for key in section:
                if key not in allowed:
                    hint = _REPLACED.get(key, f"allowed are {', '.join(allowed)}")
                    yield f"no key '{key}' in [{name}]; {hint}"

"""Thresholds: how much evidence makes a rule; read from ``config/learning.toml``."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from canonry.canon.learned import FAMILIES
from canonry.canon.policies import read_shipped
from canonry.crawler.settings import SettingsError

_Share = Annotated[float, Meta(ge=0, le=1)]
_Seconds = Annotated[float, Meta(ge=0)]


class Threshold(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The thresholds of one family; each key is explained in ``config/learning.toml``."""

    probation: _Share
    active: _Share
    doubted: _Share
    trial: _Share
    span: _Seconds
    verified: _Share
    first: Annotated[int, Meta(ge=0)]
    verify_again: _Seconds


class Gate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits for rules that become active; explained in ``config/learning.toml``."""

    share: _Share
    from_: Annotated[int, Meta(ge=0)] = msgspec.field(name="from")
    class_size: Annotated[int, Meta(ge=1)]
    hosts_a_day: Annotated[int, Meta(ge=1)]


class Thresholds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The thresholds of every family, and the gate."""

    family: dict[str, Threshold]
    gate: Gate


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
    for name in (*given, *given.get("family", {})):
        if name not in {"default", "family", "gate", *FAMILIES}:
            allowed = ", ".join(("default", "gate", *(f"family.{name}" for name in FAMILIES)))
            raise SettingsError(f"{source}: no section [{name}]; allowed are {allowed}")
    default = shipped["default"] | given.get("default", {})
    families = {
        name: default | shipped["family"].get(name, {}) | given.get("family", {}).get(name, {})
        for name in FAMILIES
    }
    whole = {"family": families, "gate": shipped["gate"] | given.get("gate", {})}
    try:
        return msgspec.convert(whole, Thresholds)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{source}: {error}") from None

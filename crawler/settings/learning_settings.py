"""The settings of learning: how much evidence a rule needs, and what may be requested for it."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from canonry.canon.policies import fault_among, read_shipped
from canonry.crawler.settings.sections import SettingsError

_Share = Annotated[float, Meta(ge=0, le=1)]
_Number = Annotated[int, Meta(ge=0)]


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A section of ``config/learning.toml``, which explains the keys."""


class Needed(_Section, frozen=True, kw_only=True):
    """How many pages have to be the same before a rule acts."""

    own_word: Annotated[int, Meta(ge=1)]
    content: Annotated[int, Meta(ge=1)]


class NeededByKind(Needed, frozen=True, kw_only=True):
    """What rules of each kind need; others need what it says itself."""

    parameter: Needed
    selecting: Needed
    moved: Needed


class Decision(_Section, frozen=True, kw_only=True):
    """What else a decision asks for."""

    selecting: frozenset[str]
    names_of_page: Annotated[int, Meta(ge=1)]
    unknown: _Share
    wrong: _Share
    worthwhile: _Number
    values: _Number
    copies: Annotated[int, Meta(ge=1)]
    confirmed: _Number
    untested: Annotated[float, Meta(ge=1)]


class Requests(_Section, frozen=True, kw_only=True):
    """The budget of requests for learning alone."""

    base: _Number
    share: _Share
    least: _Number
    for_tests: _Share


class Tests(_Section, frozen=True, kw_only=True):
    """Which URLs are fetched although a rule would hold them."""

    base: _Number
    share: _Share
    chance: _Share


class LearningSettings(_Section, frozen=True, kw_only=True):
    """All settings of learning."""

    needed: NeededByKind
    decision: Decision
    requests: Requests
    tests: Tests


_KINDS: dict[str, type[msgspec.Struct]] = {
    "needed": NeededByKind,
    "needed.parameter": Needed,
    "needed.selecting": Needed,
    "needed.moved": Needed,
    "decision": Decision,
    "requests": Requests,
    "tests": Tests,
}


@cache
def defaults() -> LearningSettings:
    """Return the default settings."""
    return msgspec.convert(tomllib.loads(read_shipped("learning.toml")), LearningSettings)


def load(file: str | None = None) -> LearningSettings:
    """Return the default settings, overridden by those in a file.

    Args:
        file: path of a TOML file with the keys of ``config/learning.toml``; None for the defaults.

    Raises:
        SettingsError: naming the source, the key and what is allowed.
    """
    if file is None:
        return defaults()
    try:
        parsed = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{file}: {error.strerror}; give a file that can be read") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: not TOML: {error}") from None
    whole = msgspec.to_builtins(defaults())
    for name, section in _sections(parsed):
        if name not in _KINDS or section is None:
            raise SettingsError(f"{file}: no section [{name}]; allowed are {', '.join(_KINDS)}")
        table = whole
        for part in name.split("."):
            table = table[part]
        table.update(section)
        if wrong := fault_among(table, _KINDS[name]):
            raise SettingsError(f"{file}: [{name}]: {wrong}")
    return msgspec.convert(whole, LearningSettings)


def _sections(given: Mapping[str, Any], above: str = "") -> list[tuple[str, dict[str, Any] | None]]:
    """Return the sections of a file with their own keys; None for what is no section."""
    sections: list[tuple[str, dict[str, Any] | None]] = []
    for key, value in given.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping):
            own = {inner: v for inner, v in value.items() if not isinstance(v, Mapping)}
            sections += [
                (name, own),
                *_sections({k: v for k, v in value.items() if isinstance(v, Mapping)}, f"{name}."),
            ]
        elif not above:
            sections.append((name, None))
    return sections

"""The sources of settings: each overrides the one before, and errors name it."""

import os
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from canonry.canon.policies import read_shipped
from canonry.canon.policies.allowed import did_you_mean, fault_in, unknown
from canonry.crawler.settings.sections import HINTS, SECTIONS, Settings, SettingsError
from canonry.crawler.settings.toml_lines import line_of
from canonry.crawler.settings.url_patterns import URLPatterns

_PREFIX = "CANONRY"
_BY_LINE = frozenset({"headers"})  # lists whose items have blanks
_SINGULAR = {"headers": "header"}  # flags that can be repeated
_PATTERNS = frozenset({"include", "exclude", "first"})

_Place = Callable[[str, str], str]  # from a section and a key ("" for none) to their place


def load(file: str | None, flags: Mapping[str, Mapping[str, Any]]) -> Settings:
    """Return the settings to use.

    The command line overrides the environment, where ``CANONRY_CRAWL_DELAY`` is ``delay`` in
    ``[crawl]``. The environment overrides the file, and the file overrides the defaults.

    Args:
        file: a TOML file, or None.
        flags: the options of the command line, by section and key. None means "not given".

    Raises:
        SettingsError: names the source, the line or the key, what was given and what is allowed.
    """
    settings = tomllib.loads(read_shipped("canonry.toml"))
    if file is not None:
        text, given = _read(file)
        _merge(settings, given, _in_file(file, text))
    for name, section, key, value in _environment(settings):
        _merge(settings, {section: {key: value}}, partial(_of_variable, name))
    for section, keys in flags.items():
        chosen = {key: value for key, value in keys.items() if value is not None}
        _merge(settings, {section: chosen}, _of_flag)
    return msgspec.convert(settings, Settings)


def _read(file: str) -> tuple[str, dict[str, Any]]:
    """Read a settings file."""
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
        return text, tomllib.loads(text)
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: not TOML: {error}") from None


def _in_file(file: str, text: str) -> _Place:
    """Return a function that names the line of a setting in a file."""

    def place(section: str, key: str) -> str:
        line = line_of(text, (section, *key.split("\0"))) if key else line_of(text, (section,))
        return f"{file}, line {line}" if line else file

    return place


def _of_variable(name: str, _section: str, _key: str) -> str:
    """Return the name of a variable."""
    return name


def _of_flag(_section: str, key: str) -> str:
    """Return the name of a flag."""
    return f"--{_SINGULAR.get(key, key).replace('_', '-')}"


def _environment(settings: dict[str, Any]) -> list[tuple[str, str, str, object]]:
    """Return the settings in the environment: variable, section, key, value.

    Variables that name no section are not settings, unless a section has nearly that name.
    """
    found: list[tuple[str, str, str, object]] = []
    for name, text in sorted(os.environ.items()):
        prefix, _, rest = name.partition("_")
        section, _, key = rest.lower().partition("_")
        if prefix != _PREFIX or not key:
            continue
        if section not in SECTIONS:
            if near := did_you_mean(section, SECTIONS):
                raise SettingsError(f"{name}: no section is called {section}{near}")
            continue
        default = settings[section].get(key, "")
        found.append((name, section, key, _value(text, key, default)))
    return found


def _value(text: str, key: str, default: object) -> object:
    """Return the value that a variable's text means for a key with this default."""
    if isinstance(default, list):
        return text.splitlines() if key in _BY_LINE else text.split()
    if isinstance(default, str):
        return text
    try:
        return tomllib.loads(f"value = {text.lower()}")["value"]
    except tomllib.TOMLDecodeError:
        return text  # which is not allowed, and the error says so


def _merge(settings: dict[str, Any], over: Mapping[str, Any], place: _Place) -> None:
    """Override settings by one source, after a check."""
    for section, values in over.items():
        if section not in SECTIONS:
            names = [f"[{name}]" for name in SECTIONS]
            about = unknown("section", f"[{section}]", names)
            raise SettingsError(f"{place(section, '')}: {about}")
        if not isinstance(values, Mapping):
            message = f"{section} is the name of a section: write [{section}], and its keys below"
            raise SettingsError(f"{place(section, '')}: {message}")
        hints = get_type_hints(SECTIONS[section], include_extras=True)
        for key, value in values.items():
            if key not in hints:
                elsewhere = [f"it is in [{n}]" for n, s in SECTIONS.items() if key in _keys(s)]
                known = {key: elsewhere[0]} if elsewhere else HINTS
                about = unknown(f"key in [{section}]", key, hints, known)
                raise SettingsError(f"{place(section, key)}: {about}")
            if fault := fault_in(key, value, hints[key]) or _fault_beyond(key, value):
                raise SettingsError(f"{place(section, key)}: {key} in [{section}]: {fault}")
        settings[section] |= values


def _keys(section: type[msgspec.Struct]) -> tuple[str, ...]:
    """Return the keys of a section."""
    return section.__struct_fields__


def _fault_beyond(key: str, value: Any) -> str | None:  # noqa: ANN401 - of the type of its key
    """Return what is wrong with a value of the right type."""
    try:
        if key in _PATTERNS:
            URLPatterns(value)
    except ValueError as error:
        return str(error)
    return None

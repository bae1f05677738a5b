"""The sources of settings: each overrides the one before, and errors name it."""

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from canonry import __title__
from canonry.canon.policies import did_you_mean, fault_in, line_of, unknown
from canonry.crawler.settings.declared import (
    HINTS,
    HINTS_OF_HOSTS,
    HOSTS,
    SECTIONS,
    TABLE,
    Declared,
)
from canonry.crawler.settings.host_tables import host_name
from canonry.crawler.settings.sections import Settings, SettingsError

_PREFIX = __title__.upper()
_DEFAULT = "default"  # the source of what no other sets
_PAIR = re.compile(r"([a-z]+)\.([a-z_]+)=(.*)", re.DOTALL)  # a setting; no file begins so
Config: TypeAlias = str | Sequence[str] | None
_BY_LINE = frozenset({"headers"})  # lists whose items have blanks
_Place = Callable[[Sequence[str]], str]  # from the path of a section or key to its source


def load(config: Config, flags: Mapping[str, Mapping[str, Any]]) -> Settings:
    """Return the settings to use.

    The command line overrides the environment, where ``CANONRY_CRAWL_DELAY`` is ``delay`` in
    ``[crawl]``. The environment overrides the file, and the file overrides the defaults.

    Args:
        config: what ``--config`` names: a TOML file, and settings such as ``crawl.max_hops=3``.
        flags: the options of the command line, by section and key. None means "not given".

    Raises:
        SettingsError: names the source, the line or the key, what was given and what is allowed.
    """
    settings = defaults()
    file, pairs = _divided(config)
    if file is not None:
        text, given = _read(file)
        _merge(settings, given, partial(_place_in, file, text))
    for name, section, key, value in _environment():
        _merge(settings, {section: {key: value}}, partial(_named, name))
    for path, value in pairs.items():
        section, key = path.split(".")
        _merge(settings, {section: {key: value}}, partial(_named, f"--config {path}"))
    for section, keys in flags.items():
        chosen = {key: value for key, value in keys.items() if value is not None}
        _merge(settings, {section: chosen}, _flag)
    return msgspec.convert(settings, Settings)


def defaults() -> dict[str, Any]:
    """Return the settings that hold where no source sets another, by section and key."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(Settings()))
    return found


def origins(config: Config) -> dict[str, dict[str, str]]:
    """Return which source sets each key: the file with the line, a variable, or "default".

    Args:
        config: as for `load`, which has to be called before: it finds the errors.
    """
    found = {section: dict.fromkeys(keys, _DEFAULT) for section, keys in defaults().items()}
    file, pairs = _divided(config)
    if file is not None:
        text, given = _read(file)
        for section, keys in given.items():
            for key in keys:
                found.setdefault(section, {})[key] = _place_in(file, text, (section, key))
    for name, section, key, _value in _environment():
        found[section][key] = name
    for path in pairs:
        section, key = path.split(".")
        found[section][key] = "--config"
    return found


def is_given(config: Config, flags: Mapping[str, Mapping[str, Any]], path: str) -> bool:
    """Return True if a source sets a key, so that it is not just the default.

    Args:
        config: as for `load`.
        flags: as for `load`.
        path: section and key, such as ``crawl.policy``.
    """
    section, key = path.split(".")
    is_typed = flags.get(section, {}).get(key) is not None
    return is_typed or origins(config)[section][key] != _DEFAULT


def given_in(config: Config, flags: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the settings of a command line, by names such as ``crawl.max_pages``.

    The file that ``--config`` names is among them, as ``config``.

    Args:
        config: as for `load`.
        flags: as for `load`.
    """
    file, pairs = _divided(config)
    typed = {f"{name}.{key}": value for name, keys in flags.items() for key, value in keys.items()}
    return ({} if file is None else {"config": file}) | pairs | typed


def nested(given: Mapping[str, Any]) -> tuple[str | None, dict[str, dict[str, Any]]]:
    """Return what `given_in` returns as what `load` takes."""
    flags: dict[str, dict[str, Any]] = {}
    for path, value in given.items():
        section, _, key = path.partition(".")
        if key:
            flags.setdefault(section, {})[key] = value
    return given.get("config"), flags


def _divided(config: Config) -> tuple[str | None, dict[str, Any]]:
    """Return the file that ``--config`` names, and the settings that it sets, by their names."""
    words = [config] if isinstance(config, str) else list(config or ())
    found = [_PAIR.fullmatch(word) for word in words]
    files = [word for word, pair in zip(words, found, strict=True) if pair is None]
    for word in files:
        if "=" in word and not Path(word).exists():
            raise SettingsError(
                f"--config {word}: write SECTION.KEY=VALUE, such as crawl.max_hops=3, or the name "
                "of a file"
            )
    if len(files) > 1:
        raise SettingsError(f"--config is given twice ({files[0]} and {files[1]}): give one file")
    values = {
        f"{section}.{key}": _value(text, section, key)
        for section, key, text in (pair.groups() for pair in found if pair)
    }
    return (files[0] if files else None), values


def _read(file: str) -> tuple[str, dict[str, Any]]:
    """Read a settings file."""
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
        return text, tomllib.loads(text)
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: not TOML: {error}") from None


def _place_in(file: str, text: str, path: Sequence[str]) -> str:
    """Return the file and line of a setting."""
    line = line_of(text, path)
    return f"{file}, line {line}" if line else file


def _named(name: str, _path: Sequence[str]) -> str:
    """Return the name of a variable, or of a setting."""
    return name


def _flag(path: Sequence[str]) -> str:
    """Return the name of a flag."""
    declared = TABLE.get(path[0], {}).get(path[-1])
    flag = declared.flag if declared else ""
    return flag or f"--config {'.'.join(path)}"


def _environment() -> list[tuple[str, str, str, object]]:
    """Return the settings in the environment: variable, section, key, value.

    Variables that name no section are ignored, but a likely typo raises an error.
    """
    overrides: list[tuple[str, str, str, object]] = []
    for name, text in sorted(os.environ.items()):
        prefix, _, rest = name.partition("_")
        section, _, key = rest.lower().partition("_")
        if prefix != _PREFIX or not key:
            continue
        if section == HOSTS:
            raise SettingsError(f"{name}: tables for hosts are read from --config FILE only")
        if section not in SECTIONS:
            if near := did_you_mean(section, SECTIONS):
                raise SettingsError(f"{name}: no section is called {section}{near}")
            continue
        overrides.append((name, section, key, _value(text, section, key)))
    return overrides


def _value(text: str, section: str, key: str) -> object:
    """Parse the text of a variable by the type of the key's default."""
    declared = TABLE.get(section, {}).get(key)
    default = declared.default if declared else ""
    if isinstance(default, tuple):
        return text.splitlines() if key in _BY_LINE else text.split()
    if isinstance(default, str):
        return text
    try:
        return tomllib.loads(f"value = {text.lower()}")["value"]
    except tomllib.TOMLDecodeError:
        return text  # a wrong type, which is reported later


def _merge(settings: dict[str, Any], over: Mapping[str, Any], place: _Place) -> None:
    """Check the settings of one source, and override others with them.

    Raises:
        SettingsError: with a line for each fault.
    """
    if faults := list(_faults(over, place)):
        raise SettingsError("\n".join(faults))
    for section, values in over.items():
        if section == HOSTS:
            for name, table in values.items():
                host = host_name(name)
                settings[HOSTS][host] = settings[HOSTS].get(host, {}) | table
        else:
            settings[section] |= values


def _faults(over: Mapping[str, Any], place: _Place) -> Iterator[str]:
    """Yield what is wrong with the settings of one source, each with its place."""
    for section, values in over.items():
        if section not in SECTIONS and section != HOSTS:
            names = [f"[{name}]" for name in (*SECTIONS, HOSTS)]
            about = unknown("section", f"[{section}]", names)
            yield f"{place((section,))}: {about}"
        elif not isinstance(values, Mapping):
            message = f"{section} is the name of a section: write [{section}], and its keys below"
            yield f"{place((section,))}: {message}"
        elif section == HOSTS:
            yield from _faults_of_hosts(values, place)
        else:
            yield from _faults_of_table((section,), values, place)


def _faults_of_hosts(over: Mapping[str, Any], place: _Place) -> Iterator[str]:
    """Yield what is wrong with the host tables of one source."""
    for name, values in over.items():
        path = (HOSTS, name)
        try:
            host_name(name)
        except ValueError as error:
            yield f'{place(path)}: [hosts."{name}"]: {error}'
            continue
        if not isinstance(values, Mapping):
            message = f'hosts has a table for each host: write [hosts."{name}"], and keys below'
            yield f"{place(path)}: {message}"
            continue
        yield from _faults_of_table(path, values, place)


def _faults_of_table(
    path: tuple[str, ...], values: Mapping[str, Any], place: _Place
) -> Iterator[str]:
    """Yield the keys and values of a table that are not allowed."""
    shown = f"[{path[0]}]" if len(path) == 1 else f'[{path[0]}."{path[1]}"]'
    allowed = TABLE[path[0]]
    for key, value in values.items():
        if key not in allowed:
            known = dict(HINTS_OF_HOSTS if path[0] == HOSTS else HINTS)
            for name, other in TABLE.items():
                if key in other and name != HOSTS:
                    known.setdefault(key, f"it is in [{name}]")
            yield f"{place((*path, key))}: {unknown(f'key in {shown}', key, allowed, known)}"
        elif fault := _fault_of(allowed[key], value):
            yield f"{place((*path, key))}: {key} in {shown}: {fault}"


def _fault_of(declared: Declared, value: Any) -> str | None:  # noqa: ANN401 - of its key
    """Return what is wrong with a value; None if nothing is."""
    if fault := fault_in(declared.key, value, declared.hint):
        return fault
    try:
        if declared.setting.check is not None:
            declared.setting.check(value)
    except ValueError as error:
        return str(error)
    return None

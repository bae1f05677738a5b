"""The sources of settings: each overrides the one before, and errors name it."""

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from canonry import __title__
from canonry.canon.policies import did_you_mean, fault_in, line_of, unknown
from canonry.crawler.settings.declared import HINTS, HINTS_OF_HOSTS, HOSTS, SECTIONS, TABLE
from canonry.crawler.settings.host_tables import host_name
from canonry.crawler.settings.sections import Settings, SettingsError

_PREFIX = __title__.upper()
_PAIR = re.compile(r"([a-z]+)\.([a-z_]+)=(.*)", re.DOTALL)  # a setting; no file begins so
Config: TypeAlias = str | Sequence[str] | None
Flags: TypeAlias = Mapping[str, Mapping[str, Any]]  # by section and key
_BY_LINE = frozenset({"headers"})  # lists whose items have blanks
_Place = Callable[[Sequence[str]], str]  # from the path of a section or key to its source


class Loaded(NamedTuple):
    """Settings, and where they come from; names are such as ``crawl.max_pages``."""

    settings: Settings
    origins: dict[str, str]  # of what is no default: the file with the line, a variable, an option
    given: dict[str, Any]  # by the command line; the file of ``--config`` is ``config``


def load(config: Config, flags: Flags) -> Settings:
    """Return the settings to use, as `loaded` does."""
    return loaded(config, flags).settings


def loaded(config: Config, flags: Flags) -> Loaded:
    """Return the settings to use, and where they come from.

    The command line overrides the environment, where ``CANONRY_CRAWL_DELAY`` is ``delay`` in
    ``[crawl]``. The environment overrides the file, and the file overrides the defaults.

    Args:
        config: what ``--config`` names: a TOML file, and settings such as ``crawl.max_hops=3``.
        flags: the options of the command line. None means "not given".

    Raises:
        SettingsError: names the source, the line or the key, what was given and what is allowed.
    """
    settings: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(Settings()))
    origins: dict[str, str] = {}
    file, pairs = _divided(config)
    for over, place in _sources(file, pairs, flags):
        if faults := list(_faults(over, place)):
            raise SettingsError("\n".join(faults))
        for section, values in over.items():
            for key, value in values.items():
                name = host_name(key) if section == HOSTS else key
                is_more = section == HOSTS and name in settings[HOSTS]
                settings[section][name] = settings[HOSTS][name] | value if is_more else value
                path = f"{section}.{name}"
                origins[path] = place((section, key)).removesuffix(f" {path}")
    typed = {f"{name}.{key}": value for name, keys in flags.items() for key, value in keys.items()}
    given = ({} if file is None else {"config": file}) | pairs | typed
    return Loaded(msgspec.convert(settings, Settings), origins, given)


def nested(given: Mapping[str, Any]) -> tuple[str | None, dict[str, dict[str, Any]]]:
    """Return what a command line gave, as in `Loaded`, as what `loaded` takes."""
    flags: dict[str, dict[str, Any]] = {}
    for path, value in given.items():
        section, _, key = path.partition(".")
        if key:
            flags.setdefault(section, {})[key] = value
    return given.get("config"), flags


def _sources(
    file: str | None, pairs: Mapping[str, Any], flags: Flags
) -> Iterator[tuple[Mapping[str, Any], _Place]]:
    """Yield the settings of each source by section and key, and what finds their place in it."""
    if file is not None:
        text, tables = _read(file)
        yield tables, partial(_place_in, file, text)
    yield from _environment()
    for path, value in pairs.items():
        section, key = path.split(".")
        yield {section: {key: value}}, _at(f"--config {path}")
    for section, keys in flags.items():
        yield {section: {key: value for key, value in keys.items() if value is not None}}, _flag


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


def _at(place: str) -> _Place:
    return lambda _path: place


def _flag(path: Sequence[str]) -> str:
    """Return the name of a flag."""
    declared = TABLE.get(path[0], {}).get(path[-1])
    flag = declared.flag if declared else ""
    return flag or f"--config {'.'.join(path)}"


def _environment() -> Iterator[tuple[Mapping[str, Any], _Place]]:
    """Yield the settings in the environment, as `_sources` does.

    Variables that name no section are ignored, but a likely typo raises an error.
    """
    for name, text in sorted(os.environ.items()):
        prefix, _, rest = name.partition("_")
        section, _, key = rest.lower().partition("_")
        if prefix != _PREFIX or not key:
            continue
        if section == HOSTS:
            raise SettingsError(f"{name}: tables for hosts are read from --config FILE only")
        if section in SECTIONS:
            yield {section: {key: _value(text, section, key)}}, _at(name)
        elif near := did_you_mean(section, SECTIONS):
            raise SettingsError(f"{name}: no section is called {section}{near}")


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


def _faults(over: Mapping[str, Any], place: _Place) -> Iterator[str]:
    """Yield what is wrong with the settings of one source, each with its place."""
    for section, values in over.items():
        if section not in TABLE:
            about = unknown("section", f"[{section}]", [f"[{name}]" for name in TABLE])
            yield f"{place((section,))}: {about}"
        elif not isinstance(values, Mapping):
            message = f"{section} is the name of a section: write [{section}], and its keys below"
            yield f"{place((section,))}: {message}"
        elif section != HOSTS:
            yield from _faults_of_table((section,), values, place)
        else:
            for name, table in values.items():
                path, shown = (HOSTS, name), f'[hosts."{name}"]'
                if not isinstance(table, Mapping):
                    message = f"hosts has a table for each host: write {shown}, and keys below"
                    yield f"{place(path)}: {message}"
                elif fault := _refused_by(host_name, name):
                    yield f"{place(path)}: {shown}: {fault}"
                else:
                    yield from _faults_of_table(path, table, place)


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
            continue
        check = allowed[key].setting.check
        fault = fault_in(key, value, allowed[key].hint)
        if fault := fault or (check and _refused_by(check, value)):
            yield f"{place((*path, key))}: {key} in {shown}: {fault}"


def _refused_by(check: Callable[[Any], object], value: Any) -> str | None:  # noqa: ANN401 - of its key
    """Return what a check says of a value that it refuses; None if it does not."""
    try:
        check(value)
    except ValueError as error:
        return str(error)
    return None

"""Policies read from TOML: those that ship with Canonry, and a user's own, which extend them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import msgspec

from canonry.canon.arguments import check_text
from canonry.canon.policies.policy import LISTS, Policy, PolicyError, fault_of, versioned_name
from canonry.canon.policies.toml_files import read_shipped, released

_LISTS = ("practice", *LISTS)


class _Changes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table that changes the rules and the lists."""

    practice: Sequence[str] | None = None
    tracking: Sequence[str] | None = None
    tracking_prefixes: Sequence[str] | None = None
    session: Sequence[str] | None = None
    index_files: Sequence[str] | None = None


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a file."""

    name: str
    version: int
    extends: str | None = None
    dialect: Literal["rfc3986", "whatwg", "rfc2396bis-01"] | None = None
    practice: Sequence[str] | None = None
    add: _Changes = _Changes()
    remove: _Changes = _Changes()
    replace: _Changes = _Changes()


_TABLES = ("add", "remove", "replace")


class _Fault(NamedTuple):
    """What is wrong with a file, and where."""

    text: str
    key: str
    table: str = ""
    item: str | None = None


def from_toml(text: str, source: str) -> Policy:
    """Read a user's policy.

    Args:
        text: TOML with a name and a version. With ``extends``, it starts from a released version
            of a preset, such as ``"web@1"``; without, from lossless rules and the shared lists.
            The tables ``[add]``, ``[remove]`` and ``[replace]`` change the rules and the lists.
        source: its name in errors, such as the file's name.

    Raises:
        PolicyError: naming the source, the line, the key, and what is allowed.
        TypeError: it is not a ``str``.
    """
    check_text("a policy", text)
    policy = _read(text, source)
    if policy.name in released():
        own = f"{policy.name!r} is the name of a preset; give your policy a name of its own"
        raise _error(text, source, _Fault(own, "name"))
    return policy


def extended(text: str, source: str) -> Policy | None:
    """Return the preset that a user's policy extends; None if it extends none.

    Raises:
        PolicyError: as `from_toml` does.
    """
    import tomllib  # noqa: PLC0415 - as in `_read`

    from_toml(text, source)
    name = tomllib.loads(text).get("extends")
    return None if name is None else preset(name)


@runtime_checkable
class FilePath(Protocol):
    """The path of a file, as `pathlib.Path` is."""

    def __fspath__(self) -> str:
        """Return it as text."""


def from_file(path: FilePath) -> Policy:
    """Return the policy in a TOML file.

    Raises:
        PolicyError: the file cannot be read, or is no policy; the message names it, and the line.
    """
    name = path.__fspath__()
    try:
        with open(name, encoding="utf-8") as file:  # noqa: PTH123 - pathlib is not imported here
            text = file.read()
    except OSError as error:
        raise PolicyError(f"policy {name}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise PolicyError(f"policy {name}: cannot be read: {error}") from None
    return from_toml(text, name)


def preset(name: str) -> Policy:
    """Return a policy that ships with Canonry.

    Args:
        name: ``web`` is its current version, ``web@1`` is its version 1 for ever. ``web/1``, as it
            is written in files, is the same.

    Raises:
        PolicyError: no preset has that name or version; the message lists those that exist.
        TypeError: it is not a ``str``.
    """
    check_text("the name of a preset", name)
    is_label = "/" in name and name.partition("/")[0] in released()
    return _preset(versioned_name(name) if is_label else name)


@cache
def _preset(name: str) -> Policy:
    """Return a preset, read once."""
    bare, mark, version = name.partition("@")
    versions = released().get(bare)
    if versions is None:
        message = f"no policy {name!r}; allowed: {', '.join(released())}, or a file"
        raise PolicyError(message)
    if not mark:
        return _preset(f"{bare}@{versions[-1]}")
    if version not in map(str, versions):
        known = ", ".join(f"{bare}@{one}" for one in versions)
        message = f"no policy {name!r}: this program has {known}"
        raise PolicyError(message)
    return _read(read_shipped(f"policies/{name}.toml"), f"preset {name}")


def _read(text: str, source: str) -> Policy:
    """Read a policy, a preset or a user's own."""
    import tomllib  # noqa: PLC0415 - only when a policy is read: `import canonry` stays light

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = f"{source}: not TOML: {error}"
        raise PolicyError(message) from None
    try:
        file = msgspec.convert(document, _File)
    except msgspec.ValidationError:
        raise _error(text, source, _misfit(document)) from None
    policy = _fault_in_lists(file) or _built(file)
    if isinstance(policy, _Fault):
        raise _error(text, source, policy)
    if wrong := fault_of(policy):
        key, fault = wrong
        table = next((t for t in ("add", "replace") if key in document.get(t, ())), "")
        raise _error(text, source, _Fault(fault, key, table))
    return policy


def _error(text: str, source: str, fault: _Fault) -> PolicyError:
    """Return the error for a fault, with the line of its key."""
    from canonry.canon.policies.toml_files import line_of  # noqa: PLC0415 - only for errors

    path = (fault.table, fault.key) if fault.table else (fault.key,)
    line = line_of(text, path, fault.item)
    place = f"{source}:{line}" if line else source
    table = f" in [{fault.table}]" if fault.table else ""
    return PolicyError(f"{place}: key {fault.key!r}{table}: {fault.text}")


def _misfit(document: Mapping[str, Any]) -> _Fault:
    """Return why a file's keys and values are not those of a policy."""
    from canonry.canon.policies.allowed import fault_among  # noqa: PLC0415 - loads slowly

    for table in _TABLES:
        given = document.get(table)
        if isinstance(given, dict) and (found := fault_among(given, _Changes)):
            key, words = found
            return _Fault(words, key, table)
    for key in LISTS:
        if key in document:
            tables = ", ".join(f"[{table}]" for table in _TABLES)
            return _Fault(f"say what to do with the list: put it into one of {tables}", key)
    key, words = fault_among(document, _File) or ("", "it is no policy")
    return _Fault(words, key)


def _fault_in_lists(file: _File) -> _Fault | None:
    """Return what is wrong with the names in lists, or with where they stand; None if nothing."""
    if file.extends is not None and file.practice is not None:
        hint = "put it into [add], [remove] or [replace]"
        return _Fault(f"'extends' brings it along; {hint}", "practice")
    for table in _TABLES:
        for key in _LISTS:
            names = getattr(getattr(file, table), key)
            if names is None:
                continue
            others = (getattr(other, key) for other in (file.add, file.remove))
            if table == "replace" and any(other is not None for other in others):
                return _Fault("a list that is replaced needs no other table", key, table)
            for name in names:
                if not name:
                    return _Fault("an empty name is not allowed", key, table)
                if key in {"tracking", "tracking_prefixes", "session"} and name != name.lower():
                    fault = f"names are compared in lower case; write {name.lower()!r}"
                    return _Fault(fault, key, table, name)
    return None


def _built(file: _File) -> Policy | _Fault:
    """Return the policy that a file describes."""
    start = _start(file)
    if isinstance(start, _Fault):
        return start
    values: dict[str, Any] = {}
    for key in _LISTS:
        add, remove, replace = (getattr(getattr(file, table), key) for table in _TABLES)
        names = list(getattr(start, key) if replace is None else replace)
        for name in remove or ():
            if name not in names:
                return _Fault(_not_there(name, names, file.extends), key, "remove", name)
            names.remove(name)
        values[key] = (*names, *(name for name in add or () if name not in names))
    dialect = file.dialect or start.dialect
    return Policy(name=file.name, version=file.version, dialect=dialect, **values)


def _not_there(name: str, names: Iterable[str], base: str | None) -> str:
    """Return the error message for removing a name that is not in the list."""
    from canonry.canon.policies.allowed import did_you_mean  # noqa: PLC0415 - only for errors

    near = did_you_mean(name, names)
    of = base or "the shared lists"
    return f"{name!r} is not in the list of {of}{near}; 'canonry policy show' prints it"


def _start(file: _File) -> Policy | _Fault:
    """Return what a file starts from: a version of a preset, or rules and the shared lists."""
    if file.extends is not None:
        name, mark, _version = versioned_name(file.extends).partition("@")
        if name in released() and not mark:
            newest = f"{name}@{released()[name][-1]}"
            return _Fault(f"name its version, so that your keys stay: {newest!r}", "extends")
        try:
            return preset(file.extends)
        except PolicyError as error:
            return _Fault(str(error).removesuffix(", or a file"), "extends")
    lists = {} if file.practice is None else _lists()
    return Policy(name="start", version=1, practice=frozenset(file.practice or ()), **lists)


@cache
def _lists() -> dict[str, Any]:
    """Return the lists that the presets share."""
    import tomllib  # noqa: PLC0415 - as in `_read`

    return tomllib.loads(read_shipped("parameters.toml"))

"""Policies read from TOML: those that ship with Canonry, and a user's own, which extend them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from canonry.canon.arguments import check_text
from canonry.canon.policies.policy import LISTS, Policy, PolicyError, fault_of, versioned_name
from canonry.canon.policies.toml_files import read_shipped, released

_CHANGES = ("add", "remove", "replace")
_CHANGED = ("practice", *LISTS)
_KINDS: dict[str, Any] = {
    "name": str,
    "version": int,
    "extends": str,
    "dialect": Literal["rfc3986", "whatwg", "rfc2396bis-01"],
    "practice": list[str],
    **dict.fromkeys(_CHANGES, dict[str, object]),
}


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
    if found := next(_faults(document), None):
        raise _error(text, source, found)
    policy = _built(document)
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


def _faults(document: Mapping[str, Any]) -> Iterator[_Fault]:
    """Yield what is wrong with the keys of a file, and with the types of their values."""
    from canonry.canon.policies.allowed import fault_in, unknown  # noqa: PLC0415 - loads slowly

    for key, value in document.items():
        if key in LISTS:
            tables = ", ".join(f"[{table}]" for table in _CHANGES)
            yield _Fault(f"say what to do with the list: put it into one of {tables}", key)
        elif key not in _KINDS:
            yield _Fault(unknown("key", key, _KINDS), key)
        elif fault := fault_in(key, value, _KINDS[key]):
            yield _Fault(fault, key)
    for table in _CHANGES:
        if isinstance(document.get(table), dict):
            yield from _faults_in_table(document[table], table)
    for key in ("name", "version"):
        if key not in document:
            yield _Fault(f"it is missing; allowed are {', '.join(_KINDS)}", key)
    if "extends" in document and "practice" in document:
        hint = "put it into [add], [remove] or [replace]"
        yield _Fault(f"'extends' brings it along; {hint}", "practice")


def _faults_in_table(given: Mapping[str, Any], table: str) -> Iterator[_Fault]:
    """Yield what is wrong with a table that changes the rules and the lists."""
    from canonry.canon.policies.allowed import fault_in, unknown  # noqa: PLC0415 - as in `_faults`

    for key, value in given.items():
        if key not in _CHANGED:
            yield _Fault(unknown("key", key, _CHANGED), key, table)
        elif fault := fault_in(key, value, list[str]):
            yield _Fault(fault, key, table)
        else:
            yield from _faults_in_names(key, value, table)


def _faults_in_names(key: str, names: Sequence[str], table: str) -> Iterator[_Fault]:
    """Yield what is wrong with the names in a list."""
    for name in names:
        if not name:
            yield _Fault("an empty name is not allowed", key, table)
        elif key in {"tracking", "tracking_prefixes", "session"} and name != name.lower():
            fault = f"names are compared in lower case; write {name.lower()!r}"
            yield _Fault(fault, key, table, name)


def _built(document: Mapping[str, Any]) -> Policy | _Fault:
    """Return the policy that checked keys describe."""
    start = _start(document)
    if isinstance(start, _Fault):
        return start
    values: dict[str, Any] = {key: getattr(start, key) for key in _CHANGED}
    for key in _CHANGED:
        tables = [table for table in _CHANGES if key in document.get(table, ())]
        if "replace" in tables and len(tables) > 1:
            return _Fault("a list that is replaced needs no other table", key, "replace")
        if "replace" in tables:
            values[key] = document["replace"][key]
        names = list(values[key])
        for name in document.get("remove", {}).get(key, ()):
            if name not in names:
                return _Fault(_not_there(name, names, document), key, "remove", name)
            names.remove(name)
        values[key] = (*names, *(n for n in document.get("add", {}).get(key, ()) if n not in names))
    dialect = document.get("dialect", start.dialect)
    return Policy(
        name=document["name"],
        version=document["version"],
        dialect=dialect,
        **values,
    )


def _not_there(name: str, names: Iterable[str], document: Mapping[str, Any]) -> str:
    """Return the error message for removing a name that is not in the list."""
    from canonry.canon.policies.allowed import did_you_mean  # noqa: PLC0415 - only for errors

    base = document.get("extends", "the shared lists")
    near = did_you_mean(name, names)
    return f"{name!r} is not in the list of {base}{near}; 'canonry policy show' prints it"


def _start(document: Mapping[str, Any]) -> Policy | _Fault:
    """Return what a file starts from: a version of a preset, or rules and the shared lists."""
    if "extends" in document:
        base = document["extends"]
        name, mark, _version = versioned_name(base).partition("@")
        if name in released() and not mark:
            newest = f"{name}@{released()[name][-1]}"
            return _Fault(f"name its version, so that your keys stay: {newest!r}", "extends")
        try:
            return preset(base)
        except PolicyError as error:
            return _Fault(str(error).removesuffix(", or a file"), "extends")
    lists = _lists() if "practice" in document else {}
    practice = frozenset(document.get("practice", ()))
    return Policy(name="start", version=1, practice=practice, **lists)


@cache
def _lists() -> dict[str, Any]:
    """Return the lists that the presets share."""
    import tomllib  # noqa: PLC0415 - as in `_read`

    return tomllib.loads(read_shipped("parameters.toml"))

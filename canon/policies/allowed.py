"""Checks of values in settings files, and messages that say what is allowed."""

from collections.abc import Iterable, Mapping
from typing import Any, get_type_hints

import msgspec
from msgspec import inspect

_LONGEST_SHOWN = 80  # characters of a value
# What these keys hold may be secret, so no message repeats it.
_SECRET_KEYS = frozenset({"headers", "basic_auth", "cookies", "proxy"})


def fault_in(key: str, value: object, kind: object) -> str | None:
    """Return what is wrong with a value, in words; None if it is allowed.

    Args:
        key: its name.
        value: as read from TOML.
        kind: the annotation of its field.
    """
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        info = inspect.type_info(kind)
        hint = ""
        if isinstance(value, str):
            hint = did_you_mean(value, _choices(info))
        given = "" if key in _SECRET_KEYS else f"{shown(value)} was given; "
        return f"{given}allowed is {in_words(info)}{hint}"
    return None


def fault_among(values: Mapping[str, Any], struct: type[msgspec.Struct]) -> tuple[str, str] | None:
    """Return the first key that does not fit a struct, and why, in words; None if all do.

    Args:
        values: those of a file, by key.
        struct: its fields are the keys that are allowed.
    """
    hints = get_type_hints(struct, include_extras=True)
    fields = inspect.type_info(struct).fields  # type: ignore[attr-defined]  # it is a StructType
    kinds = {field.encode_name: hints[field.name] for field in fields}
    for key, value in values.items():
        if key not in kinds:
            return key, unknown("key", key, kinds)
        if fault := fault_in(key, value, kinds[key]):
            return key, fault
    missing = [f.encode_name for f in fields if f.required and f.encode_name not in values]
    return (missing[0], f"it is missing; allowed are {', '.join(kinds)}") if missing else None


def did_you_mean(given: str, allowed: Iterable[str]) -> str:
    """Return " (did you mean NAME?)" with the most similar allowed name; "" if none is similar.

    Args:
        given: a name that is not allowed.
        allowed: the names that are.
    """
    import difflib  # noqa: PLC0415 - only for errors

    near = difflib.get_close_matches(given.lower(), list(allowed), 1, 0.7)
    return f" (did you mean {near[0]}?)" if near else ""


def shown(value: object) -> str:
    """Return a value as a TOML file would have it, shortened."""
    match value:
        case bool():
            text = str(value).lower()
        case str():
            text = f'"{value}"'
        case list() | tuple():
            text = f"[{', '.join(map(shown, value))}]"
        case dict():
            text = "a table"
        case _:
            text = str(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def in_words(info: inspect.Type) -> str:
    """Return what a type allows, in words."""
    if isinstance(info, inspect.Metadata):
        described = (info.extra_json_schema or {}).get("description")
        return str(described) if described else in_words(info.type)
    match info:
        case inspect.BoolType():
            words = "true or false"
        case inspect.IntType() | inspect.FloatType():
            whole = "whole " if isinstance(info, inspect.IntType) else ""
            words = f"a {whole}number{_range(info)}"
        case inspect.StrType():
            words = "a text"
        case inspect.EnumType() | inspect.LiteralType():
            *others, last = (f'"{value}"' for value in _choices(info))
            words = f"{', '.join(others)} or {last}"
        case inspect.CollectionType():
            words = f"a list, of which each item is {in_words(info.item_type)}"
        case inspect.UnionType():
            kinds = [kind for kind in info.types if not isinstance(kind, inspect.NoneType)]
            words = " or ".join(in_words(kind) for kind in kinds)
        case _:
            words = "a table"
    return words


def _choices(info: inspect.Type) -> list[str]:
    """Return the values that a literal or an enum allows; an empty list for other types."""
    match info:
        case inspect.LiteralType():
            return [str(value) for value in info.values]
        case inspect.EnumType():
            return [str(member.value) for member in info.cls]
        case _:
            return []


def _range(info: inspect.IntType | inspect.FloatType) -> str:
    """Return the range of a number, in words."""
    if info.gt is not None:
        return f" above {info.gt:,}"
    if info.ge is not None and info.le is not None:
        return f" from {info.ge:,} to {info.le:,}"
    return "" if info.ge is None else f", {info.ge:,} or more"


def unknown(kind: str, name: str, allowed: Iterable[str], hints: Mapping[str, str] = {}) -> str:
    """Return the error message for a name that does not exist.

    Args:
        kind: the kind of name, and its place: ``key in [crawl]``.
        name: as given.
        allowed: the names that exist.
        hints: messages for certain unknown names.
    """
    if name in hints:
        return f"no {kind} is called {name}: {hints[name]}"
    names = list(allowed)
    near = did_you_mean(name, names)
    return f"no {kind} is called {name}{near or '; allowed are ' + ', '.join(names)}"

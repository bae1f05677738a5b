"""Options that a resumed crawl keeps: those of the command line that began it."""

import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

import click


class Kept(NamedTuple):
    """Options of the crawl before."""

    values: dict[str, Any]  # of those that are kept, by their names: "max-pages"
    words: str  # these, as they are typed
    lost: list[str]  # names of those whose values the store does not have


def kept_options(before: Mapping[str, Any], given: Mapping[str, Any]) -> Kept:
    """Return the options of the crawl before that are not given now.

    Args:
        before: that crawl's options by name; None for a value that the store does not have.
        given: the options of now by name.
    """
    options = _by_name()
    absent = {name: before[name] for name in options if name in before and name not in given}
    lost = [name for name, value in absent.items() if value is None]
    values = {name: value for name, value in absent.items() if value is not None}
    words = " ".join(_typed(options[name], value) for name, value in values.items())
    return Kept(values, words, lost)


def by_name(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the command that were given, by the names of their options."""
    found = {name: parameters.get(str(option.name)) for name, option in _by_name().items()}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in found.items()
        if value not in {None, ()}
    }


def by_parameter(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as the parameters of the command."""
    options = _by_name()
    return {str(options[name].name): value for name, value in values.items()}


def _by_name() -> dict[str, click.Option]:
    """Return the options of the command that runs, by their long names."""
    options = click.get_current_context().command.params
    return {_name(one).removeprefix("--"): one for one in options if isinstance(one, click.Option)}


def _name(option: click.Option) -> str:
    """Return the long name of an option, as it is typed."""
    return max(option.opts, key=len)


def _typed(option: click.Option, value: object) -> str:
    """Return an option as it is typed in a shell."""
    name = _name(option)
    if isinstance(value, bool):
        return name if value else option.secondary_opts[0]
    values = value if isinstance(value, list) else [value]
    texts = (str(one).removesuffix(".0") if isinstance(one, float) else str(one) for one in values)
    return " ".join(f"{name} {shlex.quote(text)}" for text in texts)

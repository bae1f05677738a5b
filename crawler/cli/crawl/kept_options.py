"""Options that a resumed crawl keeps: those of the command line that began it."""

import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

import click

from canonry.crawler.cli.terminal import render
from canonry.crawler.plurals import counted
from canonry.crawler.run.job.resumption import Resumed


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
    options = _options()
    absent = {name: before[name] for name in options if name in before and name not in given}
    lost = [name for name, value in absent.items() if value is None]
    values = {name: value for name, value in absent.items() if value is not None}
    words = " ".join(_typed(options[name], value) for name, value in values.items())
    return Kept(values, words, lost)


def by_name(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the command that were given, by the names of their options."""
    found = {name: parameters.get(str(option.name)) for name, option in _options().items()}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in found.items()
        if value not in {None, ()}
    }


def by_parameter(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as the parameters of the command."""
    options = _options()
    return {str(options[name].name): value for name, value in values.items()}


def tell_what_is_kept(before: Resumed, kept: Kept, *, is_limited: bool) -> None:
    """Say what a crawl has of the one that it resumes, and what it lacks."""
    if before.seeds or before.listed:
        first = before.seeds[0] if before.seeds else before.listed[0].text
        others = len(before.seeds) + len(before.listed) - 1
        more = f" and {counted(others, 'more seed')}" if others else ""
        render.notify(f"Resuming the crawl of {first}{more}.")
    if kept.words:
        render.notify(
            f"As in the crawl that this one resumes: {kept.words}. Options given now replace "
            "these; --forget-options drops them all."
        )
    if before.reached is not None and not is_limited:
        render.notify(f"--max-pages {before.reached} was reached, so this crawl goes on without.")
    if kept.lost:
        names = ", ".join(f"--{name}" for name in kept.lost)
        render.notify(
            f"canonry: a store has no secrets, so these options of then are not kept: {names}; "
            "give again what the crawl needs"
        )


def _options() -> dict[str, click.Option]:
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

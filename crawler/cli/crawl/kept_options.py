"""Options that a resumed crawl keeps: those of the command line that began it."""

import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

import click

from canonry.crawler.cli.terminal import render
from canonry.crawler.plurals import counted
from canonry.crawler.run.job.resumption import Resumed

# They say which pages are fetched again: one that is given now replaces both.
_AGAIN = frozenset({"recrawl", "recrawl-after"})


class Kept(NamedTuple):
    """Options of the crawl before that are not given now."""

    values: dict[str, Any]  # of those that are kept, by their names: "max-pages"
    words: str  # these, as they are typed
    dropped: str  # those that are not kept, as they are typed
    lost: list[str]  # names of those whose values the store does not have


def kept_options(before: Resumed | None, given: Mapping[str, Any]) -> Kept:
    """Return the options of the crawl before that are not given now.

    Args:
        before: that crawl; None keeps nothing.
        given: the options of now by name.
    """
    options = _options()
    old = {} if before is None else before.options
    absent = {name: old[name] for name in options if name in old and name not in given}
    lost = [name for name, value in absent.items() if value is None]
    known = {name: value for name, value in absent.items() if value is not None}
    is_new = before is not None and before.has_ended
    contrary = frozenset() if _AGAIN.isdisjoint(given) else _AGAIN
    values = {name: value for name, value in known.items() if not (is_new or name in contrary)}
    dropped = {name: value for name, value in known.items() if name not in values}
    return Kept(values, _all_typed(values), _all_typed(dropped), lost)


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
        begins = "Crawling again from" if before.has_ended else "Resuming the crawl of"
        first = before.seeds[0] if before.seeds else before.listed[0].text
        others = len(before.seeds) + len(before.listed) - 1
        more = f" and {counted(others, 'more seed')}" if others else ""
        render.notify(f"{begins} {first}{more}.")
    if kept.words:
        render.notify(
            f"As in the crawl that this one resumes: {kept.words}. Options given now replace "
            "these; --config crawl.keep_options=false drops all."
        )
    if kept.dropped and before.has_ended:
        render.notify(
            "The last crawl into this store has ended, so these options of it are not kept: "
            f"{kept.dropped}. Give again what this crawl needs."
        )
    elif kept.dropped:
        render.notify(
            f"Not kept, as the options given now say what is fetched again: {kept.dropped}."
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


def _all_typed(values: Mapping[str, Any]) -> str:
    """Return options, by their names, as they are typed in a shell."""
    options = _options()
    return " ".join(_typed(options[name], value) for name, value in values.items())


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

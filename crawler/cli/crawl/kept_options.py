"""Settings that a resumed crawl keeps: those of the command line that began it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from canonry.crawler.cli.setting_options import name_of, typed
from canonry.crawler.cli.terminal import render
from canonry.crawler.plurals import counted
from canonry.crawler.run.job.resumption import Resumed

# They say which pages are fetched again: one that is given now replaces both.
_AGAIN = frozenset({"crawl.recrawl", "crawl.recrawl_after"})


class Kept(NamedTuple):
    """Settings of the command line before that are not given now."""

    values: dict[str, Any]  # of those that are kept, by their names: "crawl.max_pages"
    dropped: dict[str, Any]  # those that are not kept
    lost: list[str]  # names of those whose values the store does not have


def kept_options(before: Resumed | None, given: Mapping[str, Any]) -> Kept:
    """Return the settings of the command line before that are not given now.

    Args:
        before: that crawl; None keeps nothing.
        given: those of now, by name.
    """
    absent = {} if before is None else {k: v for k, v in before.options.items() if k not in given}
    lost = [name for name, value in absent.items() if value is None]
    known = {name: value for name, value in absent.items() if value is not None}
    is_new = before is not None and before.has_ended
    contrary = frozenset() if _AGAIN.isdisjoint(given) else _AGAIN
    values = {name: value for name, value in known.items() if not (is_new or name in contrary)}
    return Kept(values, {k: v for k, v in known.items() if k not in values}, lost)


def tell_what_is_kept(before: Resumed, kept: Kept, *, is_limited: bool) -> None:
    """Say what a crawl has of the one that it resumes, and what it lacks."""
    if before.seeds or before.listed:
        begins = "Crawling again from" if before.has_ended else "Resuming the crawl of"
        first = before.seeds[0] if before.seeds else before.listed[0].text
        others = len(before.seeds) + len(before.listed) - 1
        more = f" and {counted(others, 'more seed')}" if others else ""
        render.notify(f"{begins} {first}{more}.")
    if kept.values:
        render.notify(
            f"As in the crawl that this one resumes: {typed(kept.values)}. Options given now "
            "replace these; --config crawl.keep_options=false drops all."
        )
    if kept.dropped and before.has_ended:
        render.notify(
            "The last crawl into this store has ended, so these options of it are not kept: "
            f"{typed(kept.dropped)}. Give again what this crawl needs."
        )
    elif kept.dropped:
        render.notify(
            f"Not kept, as the options given now say what is fetched again: {typed(kept.dropped)}."
        )
    if before.reached is not None and not is_limited:
        render.notify(f"--max-pages {before.reached} was reached, so this crawl goes on without.")
    if kept.lost:
        names = ", ".join(dict.fromkeys(map(name_of, kept.lost)))
        render.notify(
            f"canonry: a store has no secrets, so these options of then are not kept: {names}; "
            "give again what the crawl needs"
        )

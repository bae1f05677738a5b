"""The commands that show and change a queue: ``refused``, ``hosts`` and ``patterns``."""

import time
from collections.abc import Callable
from typing import TypeVar

import click
import msgspec

from canonry.crawler.admission import exclusions
from canonry.crawler.cli.described import DescribedGroup, json_option, store_option
from canonry.crawler.cli.terminal import render
from canonry.crawler.cli.terminal.render import print_json
from canonry.crawler.inquiry import host_listing, pattern_listing, refusal_listing
from canonry.crawler.plurals import counted
from canonry.storage.reading import report
from canonry.storage.steering import blocked_hosts, releases, steered_patterns
from canonry.storage.steering.short_steps import ShortSteps

_What = TypeVar("_What")
_host = click.argument("host", metavar="HOST")
_pattern = click.argument("pattern", metavar="PATTERN|URL")
_limit = click.option(
    "--limit",
    "most",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    metavar="N",
    help="How many to list.",
)


class SteeredJSON(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person has changed of the queue; what does not apply is left out."""

    reason: str | None = None  # whose URLs were released
    host: str | None = None  # that is blocked now, or not any more, or whose URLs were released
    pattern: str | None = None  # that is excluded now, or included again
    held: int | None = None  # queued URLs
    released: int | None = None  # URLs that went back to the queue


@click.group(cls=DescribedGroup)
def refused() -> None:
    """Show and release refused URLs: those that are held or have failed."""


@refused.command("list", examples=("canonry refused list --store crawl.db",))
@store_option
@json_option
def list_refused(store: str, *, as_json: bool) -> int:
    """List for what reasons URLs are held or have failed, with examples, and what releases them."""
    with report.reading(store) as connection:
        refusals = refusal_listing.refusals_of(connection)
    render.listed(refusal_listing.RefusalListing(reasons=refusals), as_json=as_json)
    if not (refusals or as_json):
        render.notify("no URL is held, and none has failed")
    return 0


@refused.command(
    examples=(
        "canonry refused release too-deep --store crawl.db",
        "canonry refused release 'robots-unreachable: status 503' --host example.com",
    )
)
@click.argument("reason", metavar="REASON")
@click.option("--host", metavar="HOST", help="Only URLs of this host.")
@store_option
@json_option
def release(reason: str, host: str | None, store: str, *, as_json: bool) -> int:
    """Put the URLs that are held, or have failed, for a reason back in the queue.

    A running crawl fetches them; else the next one does, unless it has other limits than the last
    one: then it holds again what they do not allow. What robots.txt disallows is held again.
    """
    with report.reading(store) as connection:
        states = [
            one.state for one in refusal_listing.refusals_of(connection) if one.reason == reason
        ]
    wanted = [refusal_listing.to_release(state, reason) for state in states or ["held"]]
    with ShortSteps(store) as opened:
        done = sum(
            releases.release(opened, one, host=host, keeps=exclusions.keeps) for one in wanted
        )
    if not states:
        render.notify(f"no URL is held or has failed for {reason!r}; 'canonry refused list'")
    printed = SteeredJSON(reason=reason, host=host, released=done)
    return _tell(printed, _released(done), as_json=as_json)


@click.group(cls=DescribedGroup)
def hosts() -> None:
    """Show, block and unblock hosts."""


@hosts.command(
    "list",
    examples=("canonry hosts list --store crawl.db", "canonry hosts list --sort wait --json"),
)
@store_option
@click.option(
    "--sort",
    type=click.Choice(host_listing.ORDERS),
    default=host_listing.ORDERS[0],
    show_default=True,
    help="The longest queue first, the longest wait, the last error, or by name.",
)
@click.option("--match", "part", metavar="TEXT", default="", help="Only hosts with it in the name.")
@click.option("--blocked", is_flag=True, help="Only blocked hosts.")
@_limit
@json_option
def list_hosts(store: str, sort: str, part: str, most: int, *, blocked: bool, as_json: bool) -> int:
    """List hosts: queue, delay and why, last error, and what is known of robots.txt."""
    with report.reading(store) as connection:
        listing = host_listing.hosts_of(
            connection, time.time(), order=sort, part=part, blocked=blocked, most=most
        )
    return render.listed(listing, as_json=as_json, more=f"--limit {10 * most}")


@hosts.command(examples=("canonry hosts block example.com --store crawl.db",))
@_host
@store_option
@json_option
def block(host: str, store: str, *, as_json: bool) -> int:
    """Ask nothing more of a host: what is queued there is held, and what is found there, too.

    A running crawl follows within a second; its requests in flight end.
    """
    done = _changed(store, blocked_hosts.block, host)
    said = f"{host} is blocked: {counted(done, 'queued URL')} held"
    return _tell(SteeredJSON(host=host, held=done), said, as_json=as_json)


@hosts.command(examples=("canonry hosts unblock example.com --store crawl.db",))
@_host
@store_option
@json_option
def unblock(host: str, store: str, *, as_json: bool) -> int:
    """Put back in the queue what was held because its host was blocked."""
    done = _changed(store, blocked_hosts.unblock, host)
    said = f"{host} is not blocked: {_released(done)}"
    return _tell(SteeredJSON(host=host, released=done), said, as_json=as_json)


@click.group(cls=DescribedGroup)
def patterns() -> None:
    """Show patterns of URLs with their budgets; exclude and include them.

    A pattern is a host and a path, with "*" for numbers, dates and session ids. Where there is a
    query, "?" alone stands for any, as max_per_pattern counts them, and "?order&page" for those
    with just these parameters.
    """


@patterns.command("list", examples=("canonry patterns list --store crawl.db --match /calendar/",))
@store_option
@click.option("--match", "part", metavar="TEXT", default="", help="Only patterns with it in them.")
@_limit
@json_option
def list_patterns(store: str, part: str, most: int, *, as_json: bool) -> int:
    """List the patterns of which the most URLs were queued, with their budgets."""
    with report.reading(store) as connection:
        listing = pattern_listing.patterns_of(connection, part=part, most=most)
    return render.listed(listing, as_json=as_json, more=f"--limit {10 * most}")


@patterns.command(
    examples=(
        "canonry patterns exclude 'example.com/calendar/*' --dry-run",
        "canonry patterns exclude 'example.com/shop?colour&size' --store crawl.db",
        "canonry patterns exclude https://example.com/calendar/2031 --store crawl.db",
    )
)
@_pattern
@click.option("--dry-run", is_flag=True, help="Say what would be held, and change nothing.")
@store_option
@json_option
def exclude(pattern: str, store: str, *, dry_run: bool, as_json: bool) -> int:
    """Hold the URLs that have a pattern: those that are queued, and those to come."""
    url_pattern = exclusions.named(pattern)
    if dry_run:
        with report.reading(store) as connection:
            preview = pattern_listing.preview(connection, pattern)
        if as_json:
            print_json(preview)
        else:
            render.notify(pattern_listing.said(preview))
        return 0
    done = _changed(store, steered_patterns.exclude, url_pattern)
    said = f"{url_pattern.text} is excluded: {counted(done, 'queued URL')} held"
    return _tell(SteeredJSON(pattern=url_pattern.text, held=done), said, as_json=as_json)


@patterns.command(examples=("canonry patterns include 'example.com/calendar/*' --store crawl.db",))
@_pattern
@store_option
@json_option
def include(pattern: str, store: str, *, as_json: bool) -> int:
    """Undo an exclusion: the URLs that it holds go back to the queue."""
    url_pattern = exclusions.named(pattern)
    done = _changed(store, steered_patterns.include, url_pattern)
    said = f"{url_pattern.text} is not excluded: {_released(done)}"
    return _tell(SteeredJSON(pattern=url_pattern.text, released=done), said, as_json=as_json)


def _changed(store: str, change: Callable[[ShortSteps, _What], int], what: _What) -> int:
    """Change the queue of a store; return how many URLs were moved."""
    with ShortSteps(store) as opened:
        return change(opened, what)


def _released(count: int) -> str:
    return f"{counted(count, 'URL')} went back to the queue"


def _tell(printed: object, said: str, *, as_json: bool) -> int:
    """Print what was changed, for programs if that is wanted; return the exit code."""
    if as_json:
        print_json(printed)
    render.notify(said)
    return 0

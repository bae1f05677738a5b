"""The command ``demo``."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from canonry import __title__
from canonry.crawler.cli.described import described, json_option
from canonry.crawler.cli.exit_codes import FAILED
from canonry.crawler.cli.terminal import render
from canonry.crawler.cli.terminal.loudness import LOUDNESS
from canonry.crawler.cli.terminal.render import print_json
from canonry.crawler.demo.run import DemoResults, Result, kept_store, run
from canonry.crawler.demo.site import HOSTS
from canonry.crawler.plurals import counted, merged_by_rule

_EXAMPLES = 2  # rules that are shown, with an example


@described("canonry demo", "canonry demo --policy web --keep /tmp")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="NAME|FILE",
    help="Crawl under this policy. Can be repeated.  [default: web, search]",
)
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Keep the stores in FOLDER, to look at them; those of an earlier demo are replaced.",
)
@json_option
def demo(policies: tuple[str, ...], keep: Path | None, *, as_json: bool) -> int:
    """Crawl a generated site, and compare the result with the truth.

    The site is served on loopback, and each of its pages has many URLs. The demo shows how many
    pages a crawl missed, and how many it fetched more than once.
    """
    named = policies or ("web", "search")
    told = {"notify": render.notify} if LOUDNESS.verbose else {}  # else the results say it
    results = run(named, keep=keep, **told)
    if as_json:
        print_json(DemoResults(crawls=results))
    else:
        _show(results)
        where = "FILE" if keep is None else str(kept_store(keep, named[0]))
        before = "run it again with --keep FOLDER, then " if keep is None else ""
        name = _name_of_command()
        render.notify(f"To look at it in a browser: {before}{name} serve --store {where}")
        render.notify(f"To see the rules that it learned: {name} rules list --store {where}")
    return 0 if all(result.is_right for result in results) else FAILED


def _name_of_command() -> str:
    """Return how a shell finds this command: by its name, or as it was called."""
    called = Path(sys.argv[0])
    return __title__ if called.name != __title__ or shutil.which(__title__) else str(called)


def _show(results: Sequence[Result]) -> None:
    """Print the results beside the truth, and what was made one."""
    lines: list[tuple[object, ...]] = [
        ("pages of the site", *(r.resources for r in results)),
        ("fetched", *(r.fetched for r in results)),
        ("missed", *(len(r.missed) for r in results)),
        ("fetched more than once", *(r.fetched_again for r in results)),
        ("asked again, to learn what changes", *(r.repeated for r in results)),
        ("fetched against robots.txt", *(r.disallowed for r in results)),
        ("links found", *(r.links for r in results)),
    ]
    render.out().print(
        f"A generated site of {results[0].resources} pages on {len(HOSTS)} hosts, each under many "
        "URLs, was served on\nloopback and crawled once under each policy.\n"
    )
    columns = [f"policy {result.policy}" for result in results]
    render.table("The crawls and the truth", ("", *columns), lines)
    last = results[-1]
    rules = merged_by_rule(last.merged)
    for row in rules[:_EXAMPLES]:
        render.out().print(f"{row['links']:,} links were made one by {row['rules']}, such as")
        render.out().print(f"  {row['link']}\n  is {row['same_as']}")
    render.out().print(f"and others by {counted(len(rules) - _EXAMPLES, 'more rule')}.")
    for result in results:
        if found := result.again_for_want_of:
            rules_of = ", ".join(f"{name} ({number})" for name, number in found.items())
            render.notify(f"policy {result.policy} fetched pages again for want of: {rules_of}")
        for url in result.missed:
            render.notify(f"missed under policy {result.policy}: {url}")

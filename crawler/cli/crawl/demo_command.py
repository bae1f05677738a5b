"""The command ``demo``."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from canonry.crawler.cli.described import described, json_option
from canonry.crawler.cli.ending import with_exit_code
from canonry.crawler.cli.exit_codes import FAILED
from canonry.crawler.cli.printed.store_json import DemoJSON, DemosJSON
from canonry.crawler.cli.terminal import render, summaries
from canonry.crawler.cli.terminal.render import print_json
from canonry.crawler.demo.run import Result, kept_store, run
from canonry.crawler.demo.site import HOSTS


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
@with_exit_code
def demo(policies: tuple[str, ...], keep: Path | None, *, as_json: bool) -> int:
    """Crawl a generated site, and compare the result with the truth.

    The site is served on loopback, and each of its pages has many URLs. The demo shows how many
    pages a crawl missed, and how many it fetched more than once.
    """
    named = policies or ("web", "search")
    results = run(named, render.notify, keep)
    if as_json:
        print_json(DemosJSON(crawls=[DemoJSON(**result._asdict()) for result in results]))
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
    return "canonry" if called.name != "canonry" or shutil.which("canonry") else str(called)


def _show(results: Sequence[Result]) -> None:
    """Print the results beside the truth."""
    columns = [f"policy {result.policy}" for result in results]
    lines: list[tuple[object, ...]] = [
        ("resources on the site", *(r.resources for r in results)),
        ("fetched", *(r.fetched for r in results)),
        ("missed", *(len(r.missed) for r in results)),
        ("fetched more than once", *(r.fetched_again for r in results)),
    ]
    reasons = dict.fromkeys(name for r in results for name in r.again_for_want_of)
    lines += [
        (f"  for lack of rule {name}", *(r.again_for_want_of.get(name, 0) for r in results))
        for name in reasons
    ]
    lines += [
        ("asked twice, to learn what changes", *(r.repeated for r in results)),
        ("fetched against robots.txt", *(r.disallowed for r in results)),
        ("pages of crawler traps fetched", *(r.endless for r in results)),
        ("links found", *(r.links for r in results)),
        ("requests in total", *(r.requests for r in results)),
    ]
    render.out().print(
        f"A generated site of {results[0].resources} pages on {len(HOSTS)} hosts was served on "
        "loopback,\nand crawled once under each policy. Each page has many URLs.\n"
        "The last table compares what was fetched with the truth.\n"
    )
    for result in results:
        render.out().print(f"Policy [bold]{result.policy}[/]: {result.seconds:.1f} s\n")
        summaries.merged(result.merged)
    last = results[-1]
    summaries.aliases("Aliases recorded", last.aliases)
    render.table("The crawls and the truth", ("", *columns), lines)
    for result in results:
        for url in result.missed:
            render.notify(f"missed under policy {result.policy}: {url}")

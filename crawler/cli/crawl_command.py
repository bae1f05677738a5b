"""The command ``crawl``."""

from typing import Any

import click
import msgspec

from canonry.crawler.cli import live, render
from canonry.crawler.cli.common import INTERRUPTED, answering, json_option, print_json, store_option
from canonry.crawler.observe import metrics
from canonry.crawler.observe.progress import Progress
from canonry.crawler.run import workers
from canonry.crawler.settings import load
from canonry.storage import report


@click.command()
@click.argument("seeds", nargs=-1, required=True, metavar="SEED...")
@store_option
@click.option("--config", type=click.Path(dir_okay=False), help="A TOML file of settings.")
@click.option("--max-pages", type=int, help="Stop when the store holds this many pages.")
@click.option("--max-depth", type=int, help="Follow this many links from a seed.")
@click.option("--scope", type=click.Choice(["host", "domain", "prefix", "any"]))
@click.option("--first", multiple=True, metavar="PATTERN", help="Ask these first: */product/*.")
@click.option("--concurrency", type=int, help="Requests in flight at once, in each worker.")
@click.option("--workers", type=int, help="Processes that share the store.  [default: 1]")
@click.option("--delay", type=float, help="Seconds between two requests to one host.")
@click.option("--policy", help="A preset's name, or a TOML file.  [default: web]")
@click.option("--recrawl-after", metavar="TIME", help="Ask again for what is older: 12h, 7d, 4w.")
@click.option(
    "--allow-private", is_flag=True, default=None, help="Ask addresses that are not public."
)
@click.option("--connect-to", multiple=True, metavar="HOST:PORT:ADDR:PORT", help="As curl has it.")
@click.option("--warc", metavar="DIR", help="Keep every exchange there, as WARC.")
@click.option(
    "--embeds/--no-embeds", default=None, help="Fetch images, media, styles, scripts, too."
)
@click.option("--log", metavar="FILE", help="Add a line of JSON for each URL that was asked.")
@click.option("--metrics", metavar="PORT", help="Serve metrics for Prometheus there.")
@click.option("--learn/--no-learn", default=None, help="Learn which URLs are the same.")
@click.option("--ca-file", help="Certificate authorities to trust beside the system's.")
@json_option
@answering
def crawl(
    seeds: tuple[str, ...],
    store: str,
    config: str | None,
    *,
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - click's values, which the settings check
) -> int:
    """Crawl from the seed URLs, and report which links were merged.

    To resume, run the same command again. Ctrl-C stops the crawl after the requests in flight; a
    second Ctrl-C stops it at once.
    """
    fetch = {key: flags.pop(key) for key in ("allow_private", "ca_file")}
    fetch["connect_to"] = list(flags.pop("connect_to")) or None
    flags["first"] = list(flags["first"]) or None
    learn = {"enabled": flags.pop("learn")}
    settings = load(config, {"crawl": flags, "fetch": fetch, "learn": learn})
    standing = Progress()

    def update(progress: Progress) -> None:
        nonlocal standing
        standing = progress
        display(progress)

    with (
        metrics.served(settings.crawl.metrics, store, lambda: standing),
        live.shown(store) as display,
    ):
        result = workers.crawl(seeds, store, settings, notify=render.notify, update=update)
    with report.reading(store) as connection:
        found = report.status(connection)
    found["seconds"] = round(result.seconds, 3)
    found["finished"] = result.finished
    found["run"] = msgspec.to_builtins(result.progress)
    if as_json:
        print_json(found)
    else:
        render.status(found)
        render.notify(
            f"{result.progress.pages:,} pages in {result.seconds:.1f} s; the store is {store}"
        )
    if result.finished:
        return 0
    render.notify("Interrupted; the same command resumes.")
    return INTERRUPTED

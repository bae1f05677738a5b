"""The command ``canonry``: parse, load settings, one call, print, exit code."""

import gc
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import msgspec

from canonry.canon import Canonicalizer, Refused
from canonry.canon import extract as canon_extract
from canonry.crawler import opening
from canonry.crawler.batch import job
from canonry.crawler.batch.keying import default_workers
from canonry.crawler.batch.results import WRITTEN
from canonry.crawler.cli import live, render
from canonry.crawler.cli.common import (
    FAILED,
    INTERRUPTED,
    answering,
    base_option,
    json_option,
    policy_option,
    print_json,
    rules_option,
    store_option,
)
from canonry.crawler.cli.rules_commands import rules
from canonry.crawler.documents import html
from canonry.crawler.files import lines, output, tables
from canonry.crawler.files.formats import FORMATS, Form
from canonry.crawler.observe import metrics
from canonry.crawler.observe.progress import Progress
from canonry.crawler.settings import SettingsError, load
from canonry.storage import report
from canonry.storage.sql.schema import VERSION


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="canonry")
def main() -> None:
    """Decide which URLs are the same: canonical forms, crawls and dedups that say why.

    Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 failed,
    2 wrong usage or settings, 3 interrupted and resumable.
    """
    # Millions of small tuples are made and kept, and none is part of a cycle: the collector would
    # walk them over and over (a third of the time of a dedup).
    gc.set_threshold(200_000, 50, 100)


_by_store = click.option("--store", help="Also by what this store has seen and learned.")


@main.command()
@click.argument("urls", nargs=-1)
@base_option
@policy_option
@rules_option
@_by_store
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "surt"]),
    default="text",
    show_default=True,
)
@answering
def canon(
    urls: tuple[str, ...],
    base: str | None,
    policy: str,
    rules_file: str | None,
    store: str | None,
    form: str,
) -> int:
    """Print the canonical form of each URL; with no URL or "-", of each line of standard input.

    A filter: a line for each line. What is no URL gets an empty line (with --format json its
    reason) and is reported on standard error. With --store, a URL that was crawled comes to what it
    led to, and the store's learned rules apply to all.
    """
    given: Iterable[str | bytes] = _stdin_lines() if urls in {(), ("-",)} else urls
    canonicalizer = Canonicalizer(opening.find_policy(policy))
    refused = 0
    for result in opening.canonicals(given, base, policy, rules_file, store):
        if isinstance(result, Refused):
            refused += 1
            render.notify(f"canonry: {result.reason.value}: {result.text[:200]}")
            record: dict[str, Any] = {"text": result.text, "reason": result.reason.name.lower()}
            line = ""
        else:
            record = result._asdict() | {"key": result.key.hex()}
            line = canonicalizer.surt(result.identity) if form == "surt" else result.identity
        click.echo(msgspec.json.encode(record) if form == "json" else line)
    return FAILED if refused and given is urls else 0


def _stdin_lines() -> Iterator[bytes]:
    """Yield the lines of standard input."""
    for line in lines.read(["-"]):
        if isinstance(line, lines.Line):
            if line.refused:
                render.notify(f"canonry: line {line.number}: longer than {lines.LONGEST:,} bytes")
            yield b"" if line.refused else line.text


@main.command()
@click.argument("url")
@base_option
@policy_option
@rules_option
@_by_store
@json_option
@answering
def explain(
    url: str,
    base: str | None,
    policy: str,
    rules_file: str | None,
    store: str | None,
    *,
    as_json: bool,
) -> int:
    """Tell which rule did what to a URL, and why; of learned rules, what they rest on."""
    trace = opening.explain(url, base, policy, rules_file, store)
    if as_json:
        print_json(trace.as_dict())
    else:
        render.trace(trace)
    return 0


@main.command()
@click.argument("file", metavar="FILE|-")
@base_option
@click.option("--suffixes", is_flag=True, help="Also www.example.com/..., as http://.")
@answering
def extract(file: str, base: str | None, *, suffixes: bool) -> int:
    """Print the URLs in a text, or the links of an HTML page, one a line.

    In a text: within <>, within quotes, after URL:, or bare (RFC 3986 appendix C). A page's links
    are resolved against its base; those that stay relative for want of --base are counted.
    """
    body = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    if html.looks_like(body):
        found, relative = html.absolute_links(body, base)
        if relative:
            render.notify(f"canonry: {relative:,} relative links left out; give their --base")
    else:
        found = [hit.url for hit in canon_extract(body, suffixes=suffixes)]
    for url in found:
        click.echo(url)
    return 0


@main.command()
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
    """Crawl from SEED..., and say what was merged and by which rule.

    The same command again resumes. Ctrl-C stops after the requests in flight; twice, at once.
    """
    from canonry.crawler.run import workers  # noqa: PLC0415 - no other command needs an HTTP client

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


@main.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...|-")
@click.option("-o", "out", help="Write here, whole or not at all.  [default: stdout]")
@click.option(
    "--format",
    "form",
    type=click.Choice(tables.FORMS),
    help="Of the output.  [default: as OUT ends: .jsonl, .csv, .parquet; else text]",
)
@click.option(
    "--write",
    "written",
    type=click.Choice(WRITTEN),
    default="url",
    show_default=True,
    help="What a line of text is: the first spelling, the canonical form, or the key.",
)
@click.option(
    "--map", "map_file", help="Write every line, what it is the same as, and by which rules."
)
@click.option("--groups", help="Write the spellings of each resource that has several lines.")
@click.option("--report", "about", help="Write a page about it: one HTML file, for people.")
@click.option(
    "--input",
    "read_as",
    type=click.Choice(["auto", *FORMATS]),
    default="auto",
    show_default=True,
    help="What the files are; auto: told by the content of each.",
)
@click.option("--column", help="Name or number of the column, of CSV, TSV, JSONL, Parquet.")
@policy_option
@rules_option
@click.option(
    "--workers", type=click.IntRange(1, 256), help="Processes.  [default: one a processor]"
)
@click.option("--memory", default="1GiB", show_default=True, help="To be kept within, about.")
@click.option("--resume", is_flag=True, help="Go on where a run that was killed has stopped.")
@click.option("--store", help="Also against everything this store has seen, and into its queue.")
@click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="What does the work: this machine, or PySpark.",
)
@json_option
@answering
def dedup(
    files: tuple[str, ...],
    out: str | None,
    form: str | None,
    written: str,
    map_file: str | None,
    groups: str | None,
    about: str | None,
    read_as: str,
    column: str | None,
    policy: str,
    rules_file: str | None,
    workers: int | None,
    memory: str,
    store: str | None,
    engine: str,
    *,
    resume: bool,
    as_json: bool,
) -> int:
    """Print the first line of each distinct resource, in the order of the input.

    Files, folders, patterns; "-" is standard input. Text, CSV, TSV, JSONL, Parquet, CDX, CDXJ, WARC
    and sitemaps, plain or packed as gz, bz2, xz or zst, are told by content. What is no URL is
    counted by reason, and never stops the job. Of any size: keys that do not fit into --memory are
    spread over files, beside OUT. With --json, standard output has the summary, and the lines go to
    -o only. An input that breaks off is told, the rest is done, and the exit code is 1.
    """
    if store is not None and rules_file is not None:
        raise SettingsError(
            "--rules and --store: a store has rules of its own; "
            "bring these in: canonry rules import FILE --store URL"
        )
    asked = job.Job(
        files=job.expand(files),
        out=out,
        form=form,
        written=written,
        map_file=map_file,
        groups=groups,
        report=about,
        store=store,
        read_as=Form(None if read_as == "auto" else read_as, column),
        quiet=as_json,
        workers=workers or default_workers(),
        memory=job.bytes_of(memory),
        resume=resume,
        engine=engine,
    )
    asked.check()
    canonicalizer = opening.canonicalizer(policy, rules_file)
    total = job.size_of(asked.files)
    start = time.monotonic()
    if total is not None and store is None:
        total *= 2  # every file is read twice
    if engine == "spark":
        total = None  # it is read elsewhere
    with render.byte_progress(total, "dedup") as advance:
        summary = job.run(asked, canonicalizer, advance, render.notify)
    seconds = round(time.monotonic() - start, 3)
    if as_json:
        print_json(msgspec.to_builtins(summary) | {"seconds": seconds})
    else:
        render.dedup(summary, seconds)
    return FAILED if summary.cut else 0


@main.command()
@store_option
@json_option
@answering
def status(store: str, *, as_json: bool) -> int:
    """Tell what a store holds, also while a crawl is writing to it."""
    with report.reading(store) as connection:
        found = report.status(connection)
    if as_json:
        print_json(found)
    else:
        render.status(found)
    return 0


@main.command()
@store_option
@answering
def upgrade(store: str) -> int:
    """Bring a store that an earlier version made to the schema of this one.

    Nothing that it holds is lost, and its keys stay what they are. Stop the crawls that use it.
    """
    from canonry.storage import migrations  # noqa: PLC0415 - no other command needs Alembic

    before = migrations.upgrade(store, render.notify)
    render.notify(f"it had schema {before}, and has schema {VERSION} now")
    return 0


@main.command()
@click.argument("what", type=click.Choice(sorted(report.EXPORTS)))
@store_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv", "parquet"]),
    default="jsonl",
    show_default=True,
)
@click.option(
    "-o", "out", help="Write here, whole or not at all; .gz compresses.  [default: stdout]"
)
@answering
def export(what: str, store: str, form: str, out: str | None) -> int:
    """Print the pages, URLs, aliases, rules or refused URLs of a store; or write them as Parquet.

    Each alias has the representative of its class: the URL at the end of what it led to.
    """
    with ExitStack() as stack:
        connection = stack.enter_context(report.reading(store))
        target = sys.stdout.buffer if out is None else stack.enter_context(output.whole(out))
        rows, columns = report.rows(connection, what), report.columns(what)
        table = tables.table(target, form, columns)
        table.write(list(row.values()) for row in rows)
        table.close()
    return 0


@main.command()
@click.option(
    "--policy", "policies", multiple=True, help="Crawl under these  [default: web, search]."
)
@json_option
@answering
def demo(policies: tuple[str, ...], *, as_json: bool) -> int:
    """Crawl a site made for the purpose, and compare with what is known of it.

    The site is served on loopback. Each of its pages goes by many names.
    """
    from canonry.crawler.demo import run as demo_run  # noqa: PLC0415 - nor a server

    results = demo_run.run(policies or ("web", "search"))
    if as_json:
        print_json(msgspec.to_builtins(results))
    else:
        demo_run.show_results(results)
    return 0 if all(result.is_right for result in results) else FAILED


main.add_command(rules)

"""The command ``dedup``."""

import time

import click
import msgspec

from canonry.canon import Canonicalizer
from canonry.crawler import named_policies
from canonry.crawler.batch import job
from canonry.crawler.batch.dedup_job import Job, bytes_of
from canonry.crawler.batch.keying import default_workers
from canonry.crawler.batch.preference import Preference
from canonry.crawler.batch.summary import MergedLines, NoURLError
from canonry.crawler.cli.dedup.input_options import (
    COLUMN_ADVICE,
    input_format_of,
    input_options,
    notify_of_blank,
)
from canonry.crawler.cli.described import (
    described,
    json_option,
    once,
    policy_option,
    rules_option,
    unless_dash,
)
from canonry.crawler.cli.exit_codes import FAILED
from canonry.crawler.cli.terminal import render, summaries
from canonry.crawler.cli.terminal.render import print_json
from canonry.crawler.files import inputs
from canonry.crawler.files.blocks import recognized
from canonry.crawler.key_files.seen_file import policy_of_keys
from canonry.crawler.settings import SettingsError


class DedupJSON(msgspec.Struct, kw_only=True):
    """What became of the lines of a dedup."""

    lines: int
    blank: int
    distinct: int
    exact: int  # lines that repeat a spelling
    seen: int  # lines whose resource was seen before, as the file of --seen says
    merged: list[MergedLines]  # by the rules that merged them
    refused: dict[str, int]  # invalid lines, by reason
    refused_samples: dict[str, str]  # for each of these, a line with its place
    cut: list[str]  # sources that could not be read to their end
    seconds: float


@described(
    "canonry dedup urls.txt.gz -o distinct.txt",
    "canonry dedup 'logs/*.csv' --column url --keep-rows -o pages.csv",
    "canonry dedup c.csv --column url --keep-rows --prefer fetched -o new.csv",
    "canonry dedup today.txt --seen seen.keys -o new.txt",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...|-")
@click.option(
    "-o",
    "out",
    metavar="FILE",
    callback=unless_dash,
    help="Write to FILE, which appears when it is complete: rows, if its name ends in .jsonl, .csv "
    "or .parquet. /dev/null writes no lines.  [default: stdout]",
)
@click.option(
    "--map",
    "map_file",
    metavar="FILE",
    help="Write all input lines, each with the line that it duplicates, by which rules, and its "
    "place.",
)
@click.option("--report", metavar="FILE", help="Write a summary for people, as one HTML page.")
@input_options
@click.option(
    "--keep-rows",
    is_flag=True,
    help="Write whole rows of CSV, TSV, JSONL or Parquet, with all their columns.",
)
@click.option(
    "--prefer",
    multiple=True,
    metavar="WHAT",
    help="Keep the best line of each resource instead of its first: COLUMN:max (or min, first, "
    "last, longest), COLUMN=VALUE, url:canonical, url:https or url:shortest. Given several times, "
    "the first one that differs decides.",
)
@policy_option("that of the store, of --seen or of the rules, else web")
@rules_option
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    default=default_workers,
    metavar="N",
    hidden=True,  # one for each processor is right; scripts have it
    help="Threads.",
)
@click.option(
    "--memory",
    default="1GiB",
    show_default=True,
    metavar="SIZE",
    help="Approximate memory limit.",
)
@click.option(
    "--store",
    metavar="FILE|URL",
    help="Leave out what this store has seen, and add the rest to its queue.",
)
@click.option(
    "--seen",
    metavar="FILE|URL",
    multiple=True,
    callback=once,
    help="Leave out what this file of keys has, and add the rest to it; it is made if there is "
    "none. Of a URL or a folder, where 'keys publish' has written, keys are only read.",
)
@json_option
def dedup(
    files: tuple[str, ...],
    out: str | None,
    map_file: str | None,
    report: str | None,
    input_format: str,
    base: str | None,
    column: str | None,
    delimiter: str | None,
    policy: str | None,
    rules_file: str | None,
    workers: int,
    memory: str,
    store: str | None,
    seen: str | None,
    prefer: tuple[str, ...],
    *,
    keep_rows: bool,
    as_json: bool,
) -> int:
    """Print the first line of each distinct resource, or with --prefer the best one.

    The lines keep the order of the input, and those of a pipe are written as they arrive. FILE is a
    file, a folder, a pattern, or "-" for standard input. Text, CSV, TSV, JSONL, Parquet, CDX, CDXJ,
    WARC and sitemaps are recognized by their content, plain or compressed with gz, bz2, xz or zst.

    A line that is not a URL is counted by reason and never stops the job. The input may be of any
    size: keys that do not fit into --memory go to temporary files next to the output, and what
    follows them is read twice. With --json,
    standard output gets the summary, and the lines are written only to -o. If an input file is
    truncated, the rest is still done, a message names the file, and the exit code is 1. So it is
    if no line is a URL, and then no output is written. An output that has lines is not replaced by
    one that has none: delete it first, if that is right.
    """
    if store is not None and rules_file is not None:
        raise SettingsError(
            "--rules and --store: a store has rules of its own; add yours to them with "
            "'canonry rules import FILE --store URL'"
        )
    todo = Job(
        files=inputs.expand(files),
        canonicalizer=Canonicalizer(),
        out=out,
        map=map_file,
        report=report,
        store=store,
        seen=seen,
        keep_rows=keep_rows,
        prefer=Preference.of(prefer),
        input_format=input_format_of(input_format, base, column, delimiter),
        quiet=as_json,
        workers=workers,
        memory=bytes_of(memory),
        notify=render.notify,
    )
    todo.check((rules_file, named_policies.policy_file(policy), _file_of(store)))
    for sentence in recognized(todo.files, todo.input_format):
        render.notify(f"canonry: {sentence}")
    if seen is not None and rules_file is None:
        canonicalizer = Canonicalizer(policy_of_keys(seen, policy))
    elif store is None:
        canonicalizer = named_policies.canonicalizer(policy, rules_file)
    else:
        from canonry.crawler import opening  # noqa: PLC0415 - loads SQLAlchemy

        canonicalizer = Canonicalizer(opening.policy_for(store, policy))
    for sentence in named_policies.warnings_for(canonicalizer.policy):
        render.notify(f"canonry: {sentence}")
    start = time.monotonic()
    is_without_urls = False
    with render.byte_progress(todo.bytes_to_read(), "dedup") as advance:
        try:
            summary = job.run(todo._replace(canonicalizer=canonicalizer, advance=advance))
        except NoURLError as error:
            summary, is_without_urls = error.summary, True
    seconds = round(time.monotonic() - start, 3)
    if is_without_urls:
        render.notify(f"canonry: no line is a URL, so no output was written; {COLUMN_ADVICE}")
    notify_of_blank(summary.blank, summary.lines)
    if as_json:
        counts = msgspec.to_builtins(summary)
        del counts["merged_samples"]
        counts["merged"] = summary.merges()
        print_json(DedupJSON(**counts, seconds=seconds))
    else:
        summaries.dedup(summary, seconds)
    return FAILED if summary.cut or is_without_urls else 0


def _file_of(store: str | None) -> str | None:
    """Return the file of a store, if there is one."""
    if store is None:
        return None
    from canonry.crawler import opening  # noqa: PLC0415 - loads SQLAlchemy

    return opening.file_of_store(store)

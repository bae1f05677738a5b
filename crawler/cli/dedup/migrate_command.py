"""The command ``migrate``: the map from another program's keys to ours."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path

import click
import msgspec

from canonry.canon import Canonicalizer, InvalidURL
from canonry.crawler import named_policies
from canonry.crawler.adapters.compat.key_map import OLD_KEYS, MapRow, map_url
from canonry.crawler.batch.summary import NoURLError, Summary
from canonry.crawler.cli.dedup.input_options import (
    COLUMN_ADVICE,
    input_format_of,
    input_options,
    notify_of_blank,
)
from canonry.crawler.cli.described import (
    described,
    json_option,
    out_option,
    policy_option,
    rules_option,
)
from canonry.crawler.cli.exit_codes import FAILED
from canonry.crawler.cli.terminal import render, summaries
from canonry.crawler.cli.terminal.loudness import LOUDNESS
from canonry.crawler.files import blocks, inputs, output, tables
from canonry.crawler.files.blocks import recognized
from canonry.crawler.files.line_streams import Cut, Line
from canonry.crawler.plurals import counted

_GROUP = 10_000


class MigratedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the URLs of another program."""

    mapped: int
    blank: int  # lines
    refused: dict[str, int]  # invalid lines, by reason
    refused_samples: dict[str, str]  # for each of these, a line with its place
    cut: list[str]  # sources that could not be read to their end


@described(
    "canonry migrate --from scrapy urls.txt -o keys.csv",
    "canonry migrate --from w3lib pages.csv --column url --json -o keys.parquet",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...|-")
@click.option(
    "--from",
    "program",
    type=click.Choice(sorted(OLD_KEYS)),
    required=True,
    help="The program that made the old keys; they are computed from the URLs.",
)
@input_options
@policy_option("that of the rules, else web")
@rules_option
@click.option(
    "--format",
    "output_format",
    type=click.Choice(list(tables.OUTPUT_FORMATS)),
    help="Output format.  [default: by the name of FILE (.jsonl, .csv, .parquet), else text]",
)
@out_option
@json_option
def migrate(
    files: tuple[str, ...],
    program: str,
    input_format: str,
    base: str | None,
    column: str | None,
    delimiter: str | None,
    policy: str | None,
    rules_file: str | None,
    output_format: str | None,
    out: str | None,
    *,
    as_json: bool,
) -> int:
    """Map the keys that another program gave to URLs to Canonry's.

    FILE has URLs, in any format that 'canonry dedup' reads. Keys alone, such as Scrapy's
    requests.seen, cannot be mapped, because no URL can be made from them. For each URL, the output
    has the old key, the new identity, its key, the URL to request, and the URL as it is in FILE.

    Old keys are w3lib's canonical form, Scrapy's fingerprint of a GET request, or the SURT of web
    archives. An old key with several identities has taken different pages for one; an identity with
    several old keys has been fetched several times.

    A line that is not a URL is counted by reason and never stops the job. With --json, standard
    output gets the summary, and the map is written only to -o. The exit code is 1 if an input file
    is truncated, or if no line is a URL.
    """
    found = input_format_of(input_format, base, column, delimiter)
    found.check()
    sources = inputs.expand(files)
    if output_format is None:
        tables.check_ending("-o", out)
    output.check_distinct([("-o", out)], [*sources, rules_file, named_policies.policy_file(policy)])
    for sentence in recognized(sources, found):
        render.notify(f"canonry: {sentence}")
    canonicalizer = named_policies.canonicalizer(policy, rules_file)
    summary, mapped = Summary(), 0
    lines = blocks.lines_of(blocks.read(sources, input_format=found))
    rows = _mapped(lines, program, canonicalizer, summary)
    with suppress(NoURLError), ExitStack() as stack:
        if out is not None:
            target = stack.enter_context(output.atomic(out, lambda: not mapped))
        elif as_json:
            target = stack.enter_context(Path(os.devnull).open("wb"))
        else:
            target = sys.stdout.buffer
        columns = dict.fromkeys(MapRow._fields, str)
        table = tables.table(target, output_format or tables.format_of(out), columns)
        while some := list(islice(rows, _GROUP)):
            table.write(some)
            mapped += len(some)
        table.close()
        if is_without_urls := bool(summary.refused) and not mapped:
            raise NoURLError(summary)  # an output of before stays
    _report(summary, mapped, as_json=as_json)
    notify_of_blank(summary.blank, mapped + sum(summary.refused.values()) + summary.blank)
    if is_without_urls:
        render.notify(f"canonry: no line is a URL; {COLUMN_ADVICE}")
    return FAILED if summary.cut or is_without_urls else 0


def _mapped(
    lines: Iterable[Line | Cut], program: str, canonicalizer: Canonicalizer, summary: Summary
) -> Iterator[MapRow]:
    """Yield the rows of lines; count those that have none, and note files that break off."""
    for line in lines:
        if isinstance(line, Cut):
            render.notify(f"canonry: {line}")
            summary.cut.append(str(line))
            continue
        if line.refused is None and (not line.text or line.text.isspace()):
            summary.blank += 1
            continue
        reason = line.refused
        if reason is None:
            try:
                yield map_url(line.text, program, canonicalizer)
            except InvalidURL as error:
                reason = error.reason.name.lower()
            except ValueError:
                reason = "no_old_key"
        if reason is not None:
            summary.refuse(reason, line.source, line.number, line.text)


def _report(summary: Summary, mapped: int, *, as_json: bool) -> None:
    """Print what became of the lines."""
    if as_json:
        render.print_json(
            MigratedJSON(
                mapped=mapped,
                blank=summary.blank,
                refused=summary.refused,
                refused_samples=summary.refused_samples,
                cut=summary.cut,
            )
        )
        return
    refused = sum(summary.refused.values())
    render.notify(f"{counted(mapped, 'URL')} mapped, {refused:,} refused, {summary.blank:,} blank")
    if not LOUDNESS.quiet:
        summaries.refused(summary)

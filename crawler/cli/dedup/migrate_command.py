"""The command ``migrate``: the map from another program's keys to ours."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path

import click

from canonry.canon import Canonicalizer, InvalidURL
from canonry.crawler import named_policies
from canonry.crawler.adapters.compat.key_comparison import KeyComparison, SharedKeys
from canonry.crawler.adapters.compat.key_map import OLD_KEYS, MapRow, OldKey, map_url
from canonry.crawler.adapters.compat.own_keys import check_keys, read_keyed
from canonry.crawler.batch.summary import NoURLError, Summary
from canonry.crawler.cli.dedup.input_options import (
    COLUMN_ADVICE,
    force_option,
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
from canonry.crawler.cli.ending import with_exit_code
from canonry.crawler.cli.exit_codes import FAILED
from canonry.crawler.cli.printed.file_json import MigratedJSON, SharedKeyJSON
from canonry.crawler.cli.terminal import render, summaries
from canonry.crawler.cli.terminal.loudness import LOUDNESS
from canonry.crawler.cli.terminal.render import print_json
from canonry.crawler.files import blocks, inputs, output, tables
from canonry.crawler.files.formats import InputFormat
from canonry.crawler.files.line_streams import Cut, Line
from canonry.crawler.files.recognized_files import recognized
from canonry.crawler.plurals import counted
from canonry.crawler.settings import SettingsError

_GROUP = 10_000
_NO_OLD_KEY = "no_old_key"


@described(
    "canonry migrate --from scrapy urls.txt -o keys.csv",
    "canonry migrate --from w3lib pages.csv --column url --json -o keys.parquet",
    "canonry migrate --key-column hash pages.csv --column url -o keys.csv",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...|-")
@click.option(
    "--from",
    "program",
    type=click.Choice(sorted(OLD_KEYS)),
    help="The program that made the old keys; they are computed from the URLs.",
)
@click.option(
    "--key-column",
    metavar="NAME|N",
    help="The column of FILE with the old key of each URL, if another program made them. It takes "
    "the place of --from.",
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
@force_option
@json_option
@with_exit_code
def migrate(
    files: tuple[str, ...],
    program: str | None,
    key_column: str | None,
    input_format: str,
    base: str | None,
    column: str | None,
    delimiter: str | None,
    policy: str | None,
    rules_file: str | None,
    output_format: str | None,
    out: str | None,
    *,
    force: bool,
    as_json: bool,
) -> int:
    """Map the keys that another program gave to URLs to Canonry's.

    FILE has URLs, in any format that 'canonry dedup' reads. Keys alone, such as Scrapy's
    requests.seen, cannot be mapped, because no URL can be made from them. For each URL, the output
    has the old key, the new identity, its key, the URL to request, and the URL as it is in FILE.

    Old keys are w3lib's canonical form, Scrapy's fingerprint of a GET request, or the SURT of web
    archives; or with --key-column those of any program, such as a normalizer of your own. An old
    key with several identities has taken different pages for one; an identity with several old
    keys has been fetched several times. The summary counts both, with examples.

    A line that is not a URL is counted by reason and never stops the job. With --json, standard
    output gets the summary, and the map is written only to -o. The exit code is 1 if an input file
    is truncated, or if no line is a URL.
    """
    if (program is None) == (key_column is None):
        raise SettingsError(
            "give one of --from PROGRAM and --key-column NAME|N, which say the old keys, not both"
        )
    found = input_format_of(input_format, base, column, delimiter)
    found.check()
    sources = inputs.expand(files)
    if output_format is None:
        tables.check_ending("-o", out)
    output.check_distinct([("-o", out)], [*sources, rules_file, named_policies.policy_file(policy)])
    for sentence in recognized(sources, found):
        render.notify(f"canonry: {sentence}")
    if key_column is not None:
        check_keys(sources, found, key_column)
    canonicalizer = named_policies.canonicalizer(policy, rules_file)
    summary = Summary()
    lines = _lines(sources, found, program, key_column)
    rows = _mapped(lines, canonicalizer, summary)
    with KeyComparison.temporary() as keys:
        mapped = 0
        with suppress(NoURLError), ExitStack() as stack:
            if out is not None:
                target = stack.enter_context(output.atomic(out, lambda: not (mapped or force)))
            elif as_json:
                target = stack.enter_context(Path(os.devnull).open("wb"))
            else:
                target = sys.stdout.buffer
            columns = dict.fromkeys(MapRow._fields, str)
            table = tables.table(target, output_format or tables.format_of(out), columns)
            while some := list(islice(rows, _GROUP)):
                table.write(some)
                keys.add(some)
                mapped += len(some)
            table.close()
            if is_without_urls := bool(summary.refused) and not mapped:
                raise NoURLError(summary)  # an output of before stays
        _report(summary, mapped, keys, as_json=as_json)
    notify_of_blank(summary.blank, mapped + sum(summary.refused.values()) + summary.blank)
    if is_without_urls:
        wanted = "a URL" if key_column is None else "a URL with an old key"
        render.notify(f"canonry: no line is {wanted}; {COLUMN_ADVICE}")
    return FAILED if summary.cut or is_without_urls else 0


def _lines(
    files: Sequence[str], input_format: InputFormat, program: str | None, key_column: str | None
) -> Iterator[tuple[Line, OldKey] | Cut]:
    """Yield the lines of files, each with a function that returns its old key."""
    if key_column is not None:
        yield from read_keyed(files, input_format, key_column)
    elif program is not None:
        for line in blocks.lines_of(blocks.read(files, input_format=input_format)):
            yield line if isinstance(line, Cut) else (line, OLD_KEYS[program])


def _mapped(
    lines: Iterator[tuple[Line, OldKey] | Cut], canonicalizer: Canonicalizer, summary: Summary
) -> Iterator[MapRow]:
    """Yield the rows of lines; count those that have none, and note files that break off."""
    for found in lines:
        if isinstance(found, Cut):
            render.notify(f"canonry: {found}")
            summary.cut.append(str(found))
            continue
        line, old = found
        if line.refused is None and (not line.text or line.text.isspace()):
            summary.blank += 1
            continue
        reason = line.refused
        if reason is None:
            try:
                yield map_url(line.text, old, canonicalizer)
            except InvalidURL as error:
                reason = error.reason.name.lower()
            except ValueError:
                reason = _NO_OLD_KEY
        if reason is not None:
            summary.refuse(reason, line.source, line.number, line.text)


def _report(summary: Summary, mapped: int, keys: KeyComparison, *, as_json: bool) -> None:
    """Print what became of the lines."""
    merged_by_old, merged_by_new = keys.merged_by_old(), keys.merged_by_new()
    if as_json:
        print_json(
            MigratedJSON(
                mapped=mapped,
                blank=summary.blank,
                refused=summary.refused,
                refused_samples=summary.refused_samples,
                merged_by_old=merged_by_old.number,
                merged_by_old_samples=_as_json(merged_by_old),
                merged_by_new=merged_by_new.number,
                merged_by_new_samples=_as_json(merged_by_new),
                cut=summary.cut,
            )
        )
        return
    refused = sum(summary.refused.values())
    render.notify(f"{counted(mapped, 'URL')} mapped, {refused:,} refused, {summary.blank:,} blank")
    if not LOUDNESS.quiet:
        summaries.compared_keys(merged_by_old, merged_by_new)
        summaries.refused(summary)


def _as_json(shared: SharedKeys) -> list[SharedKeyJSON]:
    return [SharedKeyJSON(url=url, other=other) for url, other in shared.examples]

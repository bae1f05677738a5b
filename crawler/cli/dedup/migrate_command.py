"""The command ``migrate``: the map from another program's keys to ours."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import click

from canonry.canon import Refused
from canonry.crawler import opening
from canonry.crawler.adapters.compat import OLD_KEYS, MapRow, map_keys
from canonry.crawler.cli.ending import with_exit_code
from canonry.crawler.cli.options import out_option, policy_option, rules_option
from canonry.crawler.cli.terminal import render
from canonry.crawler.files import blocks, lines, output, tables

_GROUP = 10_000


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...|-")
@click.option(
    "--from",
    "program",
    type=click.Choice(sorted(OLD_KEYS)),
    required=True,
    help="Whose keys the old ones are.",
)
@policy_option
@rules_option
@click.option(
    "--format",
    "output_format",
    type=click.Choice(list(tables.OUTPUT_FORMATS)),
    help="Output format.  [default: by the name of FILE (.jsonl, .csv, .parquet), else text]",
)
@out_option
@with_exit_code
def migrate(
    files: tuple[str, ...],
    program: str,
    policy: str,
    rules_file: str | None,
    output_format: str | None,
    out: str | None,
) -> int:
    """Map the keys that another program gave to URLs to Canonry's.

    FILE has URLs, one a line. For each, the output has the old key, the new identity, its key and
    the URL. Old keys: w3lib's canonical form, Scrapy's fingerprint of a GET request (as in
    requests.seen), or the SURT of web archives. An old key with several identities has taken
    different pages for one; an identity with several old keys has been fetched several times.
    """
    canonicalizer = opening.canonicalizer(policy, rules_file)
    refused: Counter[str] = Counter()
    count = 0
    with ExitStack() as stack:
        target = sys.stdout.buffer if out is None else stack.enter_context(output.atomic(out))
        columns = dict.fromkeys(MapRow._fields, str)
        table = tables.table(target, output_format or tables.format_of(out), columns)
        rows: list[MapRow] = []
        for row in map_keys(_urls(files), program, canonicalizer):
            if isinstance(row, Refused):
                refused[row.reason.value] += 1
                continue
            rows.append(row)
            count += 1
            if len(rows) >= _GROUP:
                table.write(rows)
                rows.clear()
        table.write(rows)
        table.close()
    for reason, several in refused.most_common():
        render.notify(f"{several:,} refused: {reason}")
    render.notify(f"{render.counted(count, 'URL')} mapped")
    return 0


def _urls(files: tuple[str, ...]) -> Iterator[bytes]:
    """Yield the lines of files; notify people of those that cannot be read."""
    for line in blocks.read_lines(files):
        if isinstance(line, lines.Cut):
            render.notify(f"canonry: {line}")
        elif line.refused is None and line.text:
            yield line.text

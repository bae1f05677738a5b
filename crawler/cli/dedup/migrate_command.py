"""The command ``migrate``: the map from another program's keys to ours."""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import click

from canonry.canon import Reason, Refused
from canonry.crawler import named_policies
from canonry.crawler.adapters.compat import OLD_KEYS, MapRow, map_keys
from canonry.crawler.cli.described import (
    described,
    json_option,
    out_option,
    policy_option,
    rules_option,
)
from canonry.crawler.cli.ending import with_exit_code
from canonry.crawler.cli.exit_codes import FAILED
from canonry.crawler.cli.printed.file_json import MigratedJSON
from canonry.crawler.cli.terminal import render
from canonry.crawler.cli.terminal.render import print_json
from canonry.crawler.files import blocks, line_streams, output, tables
from canonry.crawler.plurals import counted

_GROUP = 10_000


@described(
    "canonry migrate --from scrapy urls.txt -o keys.csv",
    "canonry migrate --from w3lib urls.txt --json -o keys.parquet",
)
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
@json_option
@with_exit_code
def migrate(
    files: tuple[str, ...],
    program: str,
    policy: str,
    rules_file: str | None,
    output_format: str | None,
    out: str | None,
    *,
    as_json: bool,
) -> int:
    """Map the keys that another program gave to URLs to Canonry's.

    FILE has URLs, one a line. For each, the output has the old key, the new identity, its key and
    the URL. Old keys: w3lib's canonical form, Scrapy's fingerprint of a GET request (as in
    requests.seen), or the SURT of web archives. An old key with several identities has taken
    different pages for one; an identity with several old keys has been fetched several times.

    With --json, standard output gets the summary, and the map is written only to -o.
    """
    read = [*files, rules_file, named_policies.policy_file(policy)]
    output.check_distinct([("-o", out)], read)
    canonicalizer = named_policies.canonicalizer(policy, rules_file)
    refused: Counter[Reason] = Counter()
    count = 0
    cut: list[str] = []
    with ExitStack() as stack:
        if out is not None:
            target = stack.enter_context(output.atomic(out))
        elif as_json:
            target = stack.enter_context(Path(os.devnull).open("wb"))
        else:
            target = sys.stdout.buffer
        columns = dict.fromkeys(MapRow._fields, str)
        table = tables.table(target, output_format or tables.format_of(out), columns)
        rows: list[MapRow] = []
        for row in map_keys(_urls(files, cut), program, canonicalizer):
            if isinstance(row, Refused):
                refused[row.reason] += 1
                continue
            rows.append(row)
            count += 1
            if len(rows) >= _GROUP:
                table.write(rows)
                rows.clear()
        table.write(rows)
        table.close()
    if as_json:
        by_name = {reason.name.lower(): several for reason, several in refused.items()}
        print_json(MigratedJSON(mapped=count, refused=by_name, cut=cut))
    for reason, several in refused.most_common():
        render.notify(f"{several:,} refused: {reason.value}")
    render.notify(f"{counted(count, 'URL')} mapped")
    return FAILED if cut else 0


def _urls(files: tuple[str, ...], cut: list[str]) -> Iterator[bytes]:
    """Yield the lines of files; tell which files cannot be read to their end, and note them."""
    for line in blocks.read_lines(files):
        if isinstance(line, line_streams.Cut):
            render.notify(f"canonry: {line}")
            cut.append(str(line))
        elif line.refused is None and line.text:
            yield line.text

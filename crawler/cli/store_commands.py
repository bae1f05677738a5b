"""The commands about a store: ``status``, ``export``, ``upgrade``."""

import sys
from contextlib import ExitStack
from pathlib import PurePath

import click

from canonry.crawler.cli import render
from canonry.crawler.cli.common import (
    json_option,
    print_json,
    store_option,
    unless_dash,
    with_exit_code,
)
from canonry.crawler.files import output, tables
from canonry.crawler.run.job import killed_jobs
from canonry.crawler.settings import SettingsError
from canonry.storage import report
from canonry.storage.sql.schema import VERSION

_OTHER_TABLES = frozenset({".tsv", ".tab", ".xls", ".xlsx", ".ods"})


@click.command()
@store_option
@json_option
@with_exit_code
def status(store: str, *, as_json: bool) -> int:
    """Show what a store holds.

    This works while a crawl is writing to the store, too.
    """
    with report.reading(store) as connection:
        found = report.status(connection)
    if found["job"] is not None:
        found["job"] = killed_jobs.corrected(found["job"])
    if as_json:
        print_json(found)
    else:
        render.status(found)
    return 0


@click.command()
@click.argument("what", type=click.Choice(sorted(report.EXPORTS)))
@store_option
@click.option(
    "--format",
    "output_format",
    type=click.Choice([name for name in tables.OUTPUT_FORMATS if name != "text"]),
    help="Output format.  [default: by the name of FILE (.jsonl, .csv, .parquet), else jsonl]",
)
@click.option(
    "-o",
    "out",
    metavar="FILE",
    callback=unless_dash,
    help="Write to FILE, which appears when it is complete; .gz compresses.  [default: stdout]",
)
@with_exit_code
def export(what: str, store: str, output_format: str | None, out: str | None) -> int:
    """Export a store's pages, URLs, aliases, rules or refused URLs.

    Pages and URLs come with the page that they were found on, and each alias with the
    representative of its class: the URL that it leads to in the end. The refused URLs are those
    that are held or have failed, with the reason. Times are in UTC.
    """
    chosen = output_format or _format_of(out)
    with ExitStack() as stack:
        connection = stack.enter_context(report.reading(store))
        target = sys.stdout.buffer if out is None else stack.enter_context(output.atomic(out))
        rows, columns = report.rows(connection, what), report.columns(what)
        table = tables.table(target, chosen, columns)
        table.write(list(row.values()) for row in rows)
        table.close()
    return 0


def _format_of(out: str | None) -> str:
    """Return the format that the name of an output asks for.

    Raises:
        SettingsError: for the ending of a kind of table that is not written.
    """
    named = tables.format_of(out)
    if named == "text" and out is not None and PurePath(out).suffix.lower() in _OTHER_TABLES:
        raise SettingsError(f"-o {out}: exports are .jsonl, .csv or .parquet; or give --format")
    return "jsonl" if named == "text" else named


@click.command()
@store_option
@with_exit_code
def upgrade(store: str) -> int:
    """Upgrade a store that an earlier version of Canonry made.

    The upgrade loses no data and changes no keys. Stop all crawls that use the store first.
    """
    from canonry.storage import migrations  # noqa: PLC0415 - loads Alembic

    before = migrations.upgrade(store, render.notify)
    if before == VERSION:
        render.notify(f"the store has schema {VERSION} already; nothing was changed")
    else:
        render.notify(f"schema {before} is now schema {VERSION}")
    return 0

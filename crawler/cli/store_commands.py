"""The commands about a store: ``status``, ``upgrade``."""

import click

from canonry.crawler.cli import render
from canonry.crawler.cli.common import (
    json_option,
    print_json,
    store_option,
    with_exit_code,
)
from canonry.crawler.run import unread_pages
from canonry.crawler.run.job import killed_jobs
from canonry.storage import report
from canonry.storage.sql.schema import VERSION


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
    found["unread"] = unread_pages.unread_in(found)
    if found["job"] is not None:
        found["job"] = killed_jobs.corrected(found["job"])
    if as_json:
        print_json(found)
    else:
        render.status(found)
    return 0


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

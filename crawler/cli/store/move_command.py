"""The command ``move``: a crawl goes on in another database."""

import time

import click

from canonry.crawler.cli.described import described, json_option
from canonry.crawler.cli.ending import with_exit_code
from canonry.crawler.cli.printed.store_json import MovedJSON
from canonry.crawler.cli.terminal import render
from canonry.crawler.cli.terminal.render import print_json
from canonry.crawler.plurals import counted
from canonry.storage.copying import move as move_store
from canonry.storage.sql.engine import without_password


@described(
    "canonry move --from crawl.db --to postgresql://crawler@db.example/canonry",
    "canonry move --from postgresql://crawler@db.example/canonry --to crawl.db",
)
@click.option("--from", "source", metavar="FILE|URL", required=True, help="The store to move.")
@click.option("--to", "target", metavar="FILE|URL", required=True, help="An empty database.")
@json_option
@with_exit_code
def move(source: str, target: str, *, as_json: bool) -> int:
    """Move a store to another database, where its crawl continues.

    The store is read, and stays as it is; stop its crawl or frontier first. If the process is
    killed, the same command goes on from there. The new database is a store when it has everything,
    and not before.
    """
    start = time.monotonic()
    with render.row_progress("move") as advance:
        moved = move_store(source, target, advance, lambda text: render.notify(f"canonry: {text}"))
    seconds = round(time.monotonic() - start, 3)
    if as_json:
        print_json(MovedJSON(rows=moved.rows, before=moved.before, seconds=seconds))
    old, new = without_password(source), without_password(target)
    render.notify(
        f"{counted(moved.rows, 'row')} moved from {old} to {new} in {seconds:.1f} s; "
        f"go on with --store {new}"
    )
    return 0

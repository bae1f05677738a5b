"""The command ``redirects``."""

import sys
from contextlib import ExitStack

import click

from canonry.crawler import opening
from canonry.crawler.cli.described import described, out_option, store_option
from canonry.crawler.cli.terminal import render
from canonry.crawler.files import output, tables
from canonry.crawler.plurals import counted
from canonry.crawler.relations import redirect_files
from canonry.storage.reading import report


@described(
    "canonry redirects --store crawl.db -o moved.csv",
    "canonry redirects --format nginx -o moved.conf",
)
@store_option
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["csv", "jsonl", "nginx", "apache", "netlify"]),
    default="csv",
    show_default=True,
    help="A table with the evidence, or rules for a web server.",
)
@out_option
def redirects(store: str, output_format: str, out: str | None) -> int:
    """Map the pages of a site that was relaunched to their new URLs.

    The store needs both states: crawl the site before the relaunch, and again after it, with
    `crawl.recrawl_after`. Pages that answer 404 or 410 now are paired with pages that are new, by
    equal content, by titles, and by directories that moved. A table also has the pages without a
    new place. What the site redirects itself is only counted.
    """
    from canonry.crawler.relations import page_relations  # noqa: PLC0415 - loads NumPy

    output.check_distinct((("-o", out),), [opening.file_of_store(store)])
    with report.reading(store) as connection:
        found, redirected = page_relations.moves_in(connection)
    said = ""
    with ExitStack() as stack:
        target = sys.stdout.buffer if out is None else stack.enter_context(output.atomic(out))
        if output_format in redirect_files.SERVERS:
            made = redirect_files.redirect_file(output_format, found.moved)
            target.write(made.text.encode())
            said = f" ({counted(made.patterns, 'pattern')}, {counted(made.lines, 'line')})"
            if made.unsaid:
                said += f", of which {len(made.unsaid):,} cannot be said in this format"
        else:
            rows = list(redirect_files.rows(found))
            table = tables.table(
                target, output_format, tables.column_types(redirect_files.RedirectRow)
            )
            table.write(rows)
            table.close()
    words = (
        f"{counted(len(found.moved) + len(found.gone), 'page')} went: {len(found.moved):,} moved"
    )
    words += f"{said}; {len(found.gone):,} without a new place"
    doubts = sum(bool(one.doubt) for one in found.moved)
    words += f"; {doubts:,} with a doubt, which a table names" if doubts else ""
    render.notify(words + (f"; {redirected:,} redirect already" if redirected else ""))
    return 0

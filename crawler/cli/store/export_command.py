"""The command ``export``."""

import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from canonry.crawler import opening
from canonry.crawler.cli.described import described, known_policy_option, store_option, unless_dash
from canonry.crawler.cli.terminal import render
from canonry.crawler.documents.usage import USES
from canonry.crawler.files import output, tables
from canonry.crawler.inquiry.rule_names import RuleNames
from canonry.crawler.named_policies import policy_file
from canonry.crawler.plurals import counted
from canonry.crawler.settings import SettingsError
from canonry.storage.clusters import export_log
from canonry.storage.reading import report

if TYPE_CHECKING:
    from canonry.crawler.relations.page_relations import PreferredRelease
    from canonry.storage.clusters.cluster_export import Reading

_OTHER_TABLES = tables.WORKBOOKS | {"tsv", "tab"}
_WRITTEN = 5_000  # rows at once
WHAT = sorted([*report.EXPORTS, "clusters", "merges"])


@described(
    "canonry export pages --store crawl.db -o pages.parquet",
    "canonry export pages --allows ai-train -o corpus.jsonl",
    "canonry export aliases --format csv",
    "canonry export clusters --cursor index.cursor -o changes.jsonl",
    "canonry export clusters --prefer newest -o documents.jsonl",
)
@click.argument("what", type=click.Choice(WHAT), metavar="WHAT")
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
@click.option(
    "--allows",
    type=click.Choice(USES),
    multiple=True,
    help="Of pages, leave out those whose sites reserve this use. Can be repeated.",
)
@click.option(
    "--since",
    metavar="CURSOR|TIME",
    help="Of clusters, only what changed since an export: its cursor, a time, or 'start' for all. "
    "The store notes what was exported, and the cursor for the next time is printed.",
)
@click.option(
    "--cursor",
    "cursor_file",
    metavar="FILE",
    help="Read the cursor for --since from FILE, and write the next one to it. Without the file, "
    "all clusters are exported.",
)
@known_policy_option
@click.option(
    "--prefer",
    type=click.Choice(["newest", "oldest", "stable"]),
    help="Of clusters, say which are releases, translations and views of others, and mark this "
    "release of each page: the others are release_of it.",
)
def export(
    what: str,
    store: str,
    output_format: str | None,
    out: str | None,
    allows: tuple[str, ...],
    since: str | None,
    cursor_file: str | None,
    policy: str | None,
    prefer: "PreferredRelease | None",
) -> int:
    """Export pages, URLs, aliases, rules, refused URLs, clusters or merges.

    WHAT is aliases, clusters, merges, pages, refused, rules or urls.

    Pages and URLs come with the page that they were found on, and each alias with the
    representative of its class: the URL that it leads to in the end. The refused URLs are those
    that are held or have failed, with the reason. Times are in UTC.

    A cluster is a resource: the page that represents it, and the URLs that are the same, each with
    the reason. With --since or --cursor, clusters are what a search index needs to follow a store:
    rows to insert or replace, and rows to delete. The merges are those URLs one by one, with the
    rules and the evidence.

    With --prefer, clusters also say what their pages are to each other: releases of one manual,
    translations, views for phones, and pages that have moved. This merges and holds nothing.
    """
    outputs = (("-o", out), ("--cursor", cursor_file))
    output.check_distinct(outputs, [opening.file_of_store(store), policy_file(policy)])
    since = _since(what, since, cursor_file)
    if allows and what != "pages":
        raise SettingsError(f"--allows: only pages are left out by their use, not {what}")
    if prefer and what != "clusters":
        raise SettingsError(f"--prefer: only clusters have relations, not {what}")
    chosen = output_format or _format_of(out)
    with ExitStack() as stack:
        target = sys.stdout.buffer if out is None else stack.enter_context(output.atomic(out))
        found = _found(what, store, policy, since, allows, prefer)
        with found as (rows, columns, reading):
            table = tables.table(target, chosen, columns)
            stream = iter(rows)
            while some := list(islice(stream, _WRITTEN)):
                table.write(some)
            table.close()
        if reading is not None:
            since = export_log.write(store, reading.last, reading.changes, time.time())
    if reading is not None and since is not None:
        _keep(since, cursor_file)
    return 0


@contextmanager
def _found(
    what: str,
    store: str,
    policy: str | None,
    since: str | None,
    allows: Collection[str],
    prefer: "PreferredRelease | None",
) -> Iterator[tuple[Iterable[Sequence[Any]], Mapping[str, type], "Reading | None"]]:
    """Open a store; return the rows of an export, their columns, and what its reader has."""
    with report.reading(store) as connection:
        if what == "clusters":
            from canonry.crawler.relations import page_relations  # noqa: PLC0415 - loads NumPy
            from canonry.storage.clusters import (  # noqa: PLC0415 - loads NumPy
                cluster_export,
                cluster_rows,
            )

            reading = None if since is None else cluster_export.Reading.begin(connection, since)
            names = RuleNames(connection, policy)
            relations = page_relations.page_relations(connection, prefer) if prefer else {}
            clusters = cluster_export.clusters(connection, names, reading, relations)
            yield clusters, tables.column_types(cluster_rows.ClusterRow), reading
        elif what == "merges":
            from canonry.storage.clusters import cluster_export  # noqa: PLC0415 - loads NumPy

            names = RuleNames(connection, policy)
            pairs = cluster_export.merged_pairs(connection, names, names.evidence)
            yield pairs, tables.column_types(cluster_export.MergedPair), None
        else:
            left_out = Counter[str]()
            found = _allowed(report.rows(connection, what), allows, left_out)
            yield (
                (list(row.values()) for row in found),
                tables.column_types(report.ROWS[what]),
                None,
            )
            if left_out:
                said = ", ".join(f"{counted(n, 'page')} by {use}" for use, n in left_out.items())
                render.notify(f"left out, as their sites reserve the use: {said}")


def _allowed(
    rows: Iterable[Mapping[str, Any]], allows: Collection[str], left_out: Counter[str]
) -> Iterator[Mapping[str, Any]]:
    """Yield rows whose sites reserve none of these uses; count the others by the first of them."""
    for row in rows:
        reserved = (row["use_reserved"] or "").split() if allows else ()
        use = next((one for one in allows if one in reserved), None)
        if use is None:
            yield row
        else:
            left_out[use] += 1


def _since(what: str, since: str | None, cursor_file: str | None) -> str | None:
    """Return where an export begins; None if no cursor is wanted.

    Raises:
        SettingsError: if the options do not go together.
    """
    given = "--since" if since is not None else "--cursor" if cursor_file is not None else None
    if given is not None and what != "clusters":
        raise SettingsError(f"{given}: only clusters are exported by their changes, not {what}")
    if since is not None and cursor_file is not None:
        raise SettingsError("--since and --cursor: both say where to begin; give one of them")
    if cursor_file is None:
        return since
    path = Path(cursor_file)
    return path.read_text(encoding="utf-8").strip() if path.exists() else export_log.START


def _keep(cursor: str, file: str | None) -> None:
    """Write a cursor to its file, or show it."""
    if file is None:
        render.notify(f"the next export has what changes from now on: --since {cursor}")
        return
    with output.atomic(file) as kept:
        kept.write(f"{cursor}\n".encode())


def _format_of(out: str | None) -> str:
    """Return the format that the name of an output asks for.

    Raises:
        SettingsError: for the ending of a kind of table that is not written.
    """
    named = tables.format_of(out)
    if tables.ending_of(out) in _OTHER_TABLES:
        raise SettingsError(f"-o {out}: exports are .jsonl, .csv or .parquet; or give --format")
    return "jsonl" if named == "text" else named

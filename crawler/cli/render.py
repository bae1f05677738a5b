"""What people are shown: traces, summaries, progress. Nothing is computed here."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table

from canonry.canon import Trace
from canonry.canon.pipeline import common_ends
from canonry.crawler.batch.summary import Summary
from canonry.crawler.learn.evidence import Case

_NARROW = 72  # characters of a URL in a table
_PIPE_WIDTH = 200


def out() -> Console:
    """Return the console for results: standard output."""
    return _console(stderr=False)


def err() -> Console:
    """Return the console for people: standard error."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    """Return a console; in a pipe its lines are long enough for tables of URLs."""
    width = None if (sys.stderr if stderr else sys.stdout).isatty() else _PIPE_WIDTH
    return Console(stderr=stderr, soft_wrap=True, highlight=False, width=width)


def notify(message: str) -> None:
    """Tell people something, on standard error."""
    err().print(escape(message))


def trace(found: Trace) -> None:
    """Print what each rule did: the URL before and after it, the changed part marked."""
    console = out()
    console.print(f"[bold]{escape(found.text)}[/]")
    for step in found.steps:
        note = "" if step.lossless else " [yellow](a guess)[/]"
        console.print(f"\n  [bold cyan]{step.name}[/]{note}  {escape(step.why)}")
        before, after = mark(step.before, step.after)
        console.print(f"    [dim]-[/] {before}\n    [dim]+[/] {after}")
        console.print(f"    [dim]{escape(step.cites)}, rung: {step.rung.name.lower()}[/]")
    if not found.steps:
        console.print("\n  no rule has anything to do: it is canonical")
    console.print(f"\n  request   {escape(found.url)}")
    console.print(f"  identity  [bold]{escape(found.identity)}[/]")
    console.print(f"  key       {found.key.hex()}  [dim](policy {found.policy})[/]")
    for caution in found.cautions:
        console.print(f"  [yellow]beware[/]    {escape(caution.value)}")


def mark(before: str, after: str) -> tuple[str, str]:
    """Return both texts as markup, with what differs between them highlighted."""
    head, tail = common_ends(before, after)

    def marked(text: str, colour: str) -> str:
        middle = text[head : len(text) - tail]
        shown = f"[{colour}]{escape(middle)}[/]" if middle else ""
        return f"{escape(text[:head])}{shown}{escape(text[len(text) - tail :])}"

    return marked(before, "red strike"), marked(after, "green underline")


def table(
    title: str,
    columns: Sequence[str],
    lines: Sequence[Sequence[object]],
    console: Console | None = None,
) -> None:
    """Print a table; numbers are set to the right. Nothing is printed when it has no lines."""
    if not lines:
        return
    grid = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for n, column in enumerate(columns):
        number = all(isinstance(line[n], int) for line in lines)
        grid.add_column(column, justify="right" if number else "left", overflow="fold")
    for line in lines:
        grid.add_row(*(f"{c:,}" if isinstance(c, int) else escape(str(c)) for c in line))
    console = console or out()
    console.print(grid, soft_wrap=False)
    console.print()


def status(found: Mapping[str, Any]) -> None:
    """Print what a store holds."""
    job = found["job"]
    console = out()
    if job is not None:
        ended = (
            "" if job["ended_at"] is None else f" after {job['ended_at'] - job['started_at']:.1f} s"
        )
        console.print(f"{job['command']} {job['state']}{ended}, policy {found['policy']}\n")
    table("URLs", ("state", "count"), [(k, n) for k, n in found["urls"].items() if n])
    table("Pages", ("HTTP status", "count"), list(found["pages_by_status"].items()))
    if found["repeated_bodies"]:
        console.print(f"{found['repeated_bodies']:,} pages have a body that another page has\n")
    table("Aliases", ("kind, HTTP status", "count"), list(found["aliases"].items()))
    table("Held", ("reason", "count"), list(found["held"].items()))
    table("Failed", ("reason", "count"), list(found["failed"].items()))
    merged(found["merged"])
    table(
        "Links that are no URL to fetch",
        ("reason", "links", "for example"),
        [(r["reason"], r["links"], _short(r["link"])) for r in found["refused"]],
    )


def moment(at: float) -> str:
    """Return a time for people, in UTC; "never" for what never was."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(at)) if at > 0 else "never"


def rule(case: Case, says: str) -> None:
    """Print all about a learned rule."""
    console = out()
    console.print(f"[bold]{case.id}[/]  [bold cyan]{case.state}[/]  {escape(says)}")
    console.print(
        f"\n  {case.agree:,} paths agree, {case.disagree:,} disagree; since it is {case.state}: "
        f"{case.trial_agree:,} and {case.trial_disagree:,}"
    )
    console.print(
        f"  {case.spared:,} URLs were not fetched for it; {case.reversed:,} redirects were seen "
        "the other way round"
    )
    console.print(
        f"  first seen {moment(case.first_seen)}, last {moment(case.last_seen)}, "
        f"{case.state} since {moment(case.entered_at)}, verified {moment(case.verified_at)}\n"
    )
    table("For it", ("URL", "is"), case.samples)
    table("Against it", ("URL", "is"), case.against)


def merged(rows: Sequence[Mapping[str, Any]], console: Console | None = None) -> None:
    """Print how many links each rule merged, with an example; several may be needed for one."""
    links: Counter[str] = Counter()
    example: dict[str, Mapping[str, Any]] = {}
    for row in sorted(rows, key=lambda row: row["rules"].count("+")):
        for rule in row["rules"].split(" + "):
            links[rule] += row["links"]
            example.setdefault(rule, row)
    table(
        "Merged, by rule",
        ("rule", "links", "link", "is the same as"),
        [
            (rule, n, _short(example[rule]["link"]), _short(example[rule]["same_as"]))
            for rule, n in links.most_common()
        ],
        console=console,
    )


def _short(text: str) -> str:
    """Return a text cut to what a column can bear."""
    shown = "".join(c if c.isprintable() else " " for c in text.strip())
    return shown if len(shown) <= _NARROW else f"{shown[: _NARROW - 1]}…"


@contextmanager
def byte_progress(total: int | None, what: str) -> Iterator[Callable[[int], None]]:
    """Show how much of some files was read, on a terminal; yields what to call with more."""
    console = err()
    if not console.is_terminal or total is None:
        yield lambda _count: None
        return
    columns = (
        TextColumn(what),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.update(task, advance=count)


def dedup(summary: Summary, seconds: float) -> None:
    """Tell on standard error what a dedup did."""
    rate = summary.lines / max(seconds, 0.001)
    merged_lines = sum(summary.merged.values())
    refused_lines = sum(summary.refused.values())
    notify(
        f"{summary.lines:,} lines in {seconds:.1f} s ({rate:,.0f}/s): "
        f"{summary.distinct:,} distinct, {summary.exact:,} repeated, "
        f"{merged_lines:,} merged by rules, {refused_lines:,} refused, {summary.blank:,} blank"
    )
    merged(
        [
            {"rules": rules, "links": count, "link": line, "same_as": same_as}
            for rules, count in summary.merged.items()
            for line, same_as in [summary.merged_samples[rules]]
        ],
        console=err(),
    )
    table(
        "Refused",
        ("reason", "lines", "for example"),
        [(r, n, _short(summary.refused_samples[r])) for r, n in summary.refused.items()],
        console=err(),
    )
    for cut in summary.cut:
        notify(f"canonry: {cut}; what was read before is in the output")

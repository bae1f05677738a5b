"""Print traces, summaries and progress for people."""

import sys
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

from canonry.canon import Trace, redaction
from canonry.canon.pipeline import common_ends
from canonry.crawler.batch.summary import Summary
from canonry.storage import report
from canonry.storage.learned.tracked_rule import TrackedRule
from canonry.storage.policy_change import Forecast
from canonry.storage.timestamps import iso

_NARROW = 72  # characters of a URL in a table
_PIPE_WIDTH = 200


def out() -> Console:
    """Return the console for results: standard output."""
    return _console(stderr=False)


_displays: list[Console] = []  # consoles that show a live display now


def err() -> Console:
    """Return the console for people: standard error.

    While there is a live display, it is the display's console: others would write into it.
    """
    return _displays[-1] if _displays else _console(stderr=True)


@contextmanager
def displaying(console: Console) -> Iterator[None]:
    """Let messages be printed above the live display of a console."""
    _displays.append(console)
    try:
        yield
    finally:
        _displays.remove(console)


def _console(*, stderr: bool) -> Console:
    """Return a console; in a pipe, it is wide enough for tables of URLs."""
    width = None if (sys.stderr if stderr else sys.stdout).isatty() else _PIPE_WIDTH
    return Console(stderr=stderr, soft_wrap=True, highlight=False, width=width)


def notify(message: str) -> None:
    """Print a message on standard error, without the passwords of URLs in it."""
    err().print(escape(redaction.redact_message(message)))


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: "1 page", "2,000 pages"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def trace(found: Trace) -> None:
    """Print what each rule did: the URL before and after, with the change highlighted."""
    console = out()
    console.print(f"[bold]{escape(found.text)}[/]")
    for step in found.steps:
        note = "" if step.lossless else " [yellow](a guess)[/]"
        console.print(f"\n  [bold cyan]{step.name}[/]{note}  {escape(step.why)}")
        before, after = mark(step.before, step.after)
        console.print(f"    [dim]-[/] {before}\n    [dim]+[/] {after}")
        console.print(f"    [dim]{escape(step.cites)}, rung: {step.rung.name.lower()}[/]")
    if not found.steps:
        console.print("\n  no rule changes it: it is canonical")
    console.print(f"\n  request   {escape(found.url)}")
    console.print(f"  identity  [bold]{escape(found.identity)}[/]")
    console.print(f"  key       {found.key.hex()}  [dim](policy {found.policy})[/]")
    for caution in found.cautions:
        console.print(f"  [yellow]caution[/]   {escape(caution.value)}")


def mark(before: str, after: str) -> tuple[str, str]:
    """Return both texts as markup, with the difference highlighted."""
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
    """Print a table, with numbers aligned to the right. A table without lines is not printed."""
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
        began = f"began {moment(job['started_at'])}"
        ended = "" if job["seconds"] is None else f" after {job['seconds']:.1f} s"
        told = f"{job['command']} {job['state']}{ended}, {began}, policy {found['policy']}"
        console.print(f"{told}\n", soft_wrap=False)
    table("URLs", ("state", "count"), [(k, n) for k, n in found["urls"].items() if n])
    table("Pages", ("HTTP status", "count"), list(found["pages_by_status"].items()))
    if unread := found["unread"]:
        pages = counted(sum(unread.values()), "page")
        why = ", ".join(f"{reason} {number:,}" for reason, number in unread.items())
        console.print(f"{pages} of these answered, but the body was not read: {why}\n")
    if found["repeated_bodies"]:
        pages = counted(found["repeated_bodies"], "page")
        console.print(f"{pages} with the same body as another page\n")
    table("Aliases", ("kind, HTTP status", "count"), list(found["aliases"].items()))
    table("Held", ("reason", "count"), list(found["held"].items()))
    table("Failed", ("reason", "count"), list(found["failed"].items()))
    table(
        "Waiting",
        ("host", "until", "because of", "URLs"),
        [
            (w["host"], moment(w["until"]), w["reason"] or "its delay", w["urls"])
            for w in found["waiting"]
        ],
    )
    merged(found["merged"])
    table(
        "Links that cannot be fetched",
        ("reason", "links", "example"),
        [(r["reason"], r["links"], _short(r["link"])) for r in found["refused"]],
    )
    if found["not_pages"]:
        links = counted(found["not_pages"], "link")
        about = "that lead to no page (javascript:, mailto: and the like)"
        console.print(f"{links} {about}\n", soft_wrap=False)


def moment(text: str | None) -> str:
    """Return a time for people: to the second, in UTC; "never" for None.

    Args:
        text: as `canonry.storage.timestamps` writes it.
    """
    return "never" if text is None else f"{text[:10]} {text[11:19]}Z"


def rule(rule: TrackedRule, says: str, experience: str) -> None:
    """Print a learned rule and its evidence, and how experience with other hosts counted."""
    console = out()
    console.print(f"[bold]{rule.id}[/]  [bold cyan]{rule.state}[/]  {escape(says)}")
    console.print(
        f"\n  {counted(rule.agree, 'path')} for it, {rule.disagree:,} against; since it became "
        f"{rule.state}: {rule.trial_agree:,} for, {rule.trial_disagree:,} against"
    )
    console.print(
        f"  {counted(rule.spared, 'URL')} not fetched because of it; "
        f"{counted(rule.reversed, 'redirect')} in the opposite direction"
    )
    console.print(
        f"  first seen {moment(iso(rule.first_seen))}, last seen {moment(iso(rule.last_seen))}, "
        f"{rule.state} since {moment(iso(rule.entered_at))}, "
        f"verified {moment(iso(rule.verified_at))}"
    )
    console.print(f"  {escape(experience)}\n")
    table("Evidence for it", ("URL", "is the same as"), rule.samples)
    table("Evidence against it", ("URL", "leads to"), rule.against)


def merged(rows: Sequence[Mapping[str, Any]], console: Console | None = None) -> None:
    """Print how many links each rule merged, with an example."""
    table(
        "Merged, by rule",
        ("rule", "links", "link", "is the same as"),
        [
            (row["rules"], row["links"], _short(row["link"]), _short(row["same_as"]))
            for row in report.merged_by_rule(rows)
        ],
        console=console,
    )


def _short(text: str) -> str:
    """Return a text cut to the width of a column, without control characters."""
    shown = "".join(c if c.isprintable() else " " for c in text.strip())
    return shown if len(shown) <= _NARROW else f"{shown[: _NARROW - 1]}…"


@contextmanager
def byte_progress(total: int | None, what: str) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on a terminal; yields a function that takes the bytes just read."""
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
    with Progress(*columns, console=console, transient=True) as bar, displaying(console):
        task = bar.add_task(what, total=total)

        def advance(count: int) -> None:
            bar.update(task, advance=count)
            if bar.tasks[task].completed > (bar.tasks[task].total or 0):  # it is read once more
                bar.update(task, total=2 * total)

        yield advance


def dedup(summary: Summary, seconds: float) -> None:
    """Print the summary of a dedup on standard error."""
    rate = summary.lines / max(seconds, 0.001)
    merged_lines = sum(summary.merged.values())
    refused_lines = sum(summary.refused.values())
    notify(
        f"{counted(summary.lines, 'line')} in {seconds:.1f} s ({rate:,.0f}/s): "
        f"{summary.distinct:,} distinct, {summary.exact:,} repeated, "
        f"{f'{summary.seen:,} seen before, ' if summary.seen else ''}"
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
        ("reason", "lines", "example"),
        [(r, n, _short(summary.refused_samples[r])) for r, n in summary.refused.items()],
        console=err(),
    )
    for cut in summary.cut:
        notify(f"canonry: {cut}; the output has what was read before")


def forecast(made: str, label: str, found: Forecast) -> None:
    """Show what a change of a store's policy would do."""
    stay = found.urls - found.merged + found.split
    out().print(f"{made} -> {label}: {found.urls:,} URLs would be {stay:,}; nothing was changed")
    own = "targets of redirects and canonical links would be queued as URLs of their own"
    apart = "merged links would be other URLs; they are not known, and queued when found again"
    for number, what, examples in (
        (found.merged, "URLs would become one with another", found.merged_examples),
        (found.split, own, found.split_examples),
        (found.apart, apart, found.apart_examples),
    ):
        out().print(f"\n{number:,} {what}")
        for one in examples:
            out().print(escape(f"  {one.url}  =  {one.other}  ({one.rules})"))

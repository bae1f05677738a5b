"""Print messages, traces, tables and progress for people, and results for programs."""

import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any, cast

import click
import msgspec
from rich.box import SQUARE
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table
from rich.text import Text

from canonry import __title__
from canonry.canon import Trace, redaction
from canonry.canon.pipeline import common_ends
from canonry.canon.policies import versioned_name
from canonry.crawler.cli.terminal.loudness import LOUDNESS, PROBLEM
from canonry.crawler.markup import MOST, escaped, named
from canonry.storage.shown import tables_of

_PIPE_WIDTH = 80
_LEAST_WIDTH = 20  # of a text beside its name
_FACTS = 10  # width of the names of what a trace ends with


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
    """Return a console; in a pipe, tables are made for 80 columns unless COLUMNS is set."""
    stream = cast("IO[str]", _Heedless(sys.stderr)) if stderr else sys.stdout
    is_known = "COLUMNS" in os.environ or stream.isatty()
    width = None if is_known else _PIPE_WIDTH
    return _SafeConsole(
        file=stream, stderr=stderr, soft_wrap=True, highlight=False, width=width, emoji=False
    )


class _SafeConsole(Console):
    """A console that texts of others cannot control, in whatever they are printed."""

    def render_str(self, text: str, **more: Any) -> Text:  # noqa: ANN401 - as rich has it
        return super().render_str(named(text), **more)


class _Heedless:
    """A stream for messages: those that it cannot take are lost, and the job goes on.

    Its reader may have left, as "2>&1 | head" does, its terminal be closed, or its disk be full.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def notify(message: str) -> None:
    """Print a message on standard error, without the passwords of URLs in it.

    One that begins with "canonry: " is about something that went wrong; -q hides the others.
    """
    if LOUDNESS.allows(message):
        console = err()
        said = redaction.redact_message(message)
        if said.startswith(PROBLEM):
            said = f"{__title__}: {said.removeprefix(PROBLEM)}"
        console.print(escape(hanging(said, console)))


def hanging(text: str, console: Console, indent: int = 0) -> str:
    """Break a line between words where a terminal ends; a URL stays whole, so it can be copied.

    Args:
        text: what is printed.
        console: where; in a pipe, lines stay as they are.
        indent: of the text, and of what follows its first line.
    """
    if not console.is_terminal or "\n" in text:
        return text
    width = max(console.width - indent, _LEAST_WIDTH)
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return f"\n{' ' * indent}".join(lines)


def beside(name: str, text: str, console: Console, width: int) -> tuple[str, str]:
    """Return a name and a text to print two blanks from the left, one after the other.

    Where a terminal has no room for the first word, such as a URL, the text begins below its name.

    Args:
        name: on the left.
        text: beside it.
        console: where.
        width: of the names.
    """
    if console.is_terminal and cell_len(text.partition(" ")[0]) > console.width - 2 - width:
        below = "\n  " if name else ""
        return name, f"{below}  {hanging(text, console, 4)}"
    return f"{name:{width}}", hanging(text, console, 2 + width)


def trace(url_trace: Trace) -> None:
    """Print what each rule did: the URL before and after, with the change highlighted."""
    console = out()
    console.print(f"[bold]{escape(url_trace.text)}[/]")
    for step in url_trace.steps:
        note = "" if step.lossless else " [yellow](a heuristic)[/]"
        head = len(f"  {step.name}{'' if step.lossless else ' (a heuristic)'}  ")
        why = escape(hanging(step.why, console, head))
        console.print(f"\n  [bold cyan]{step.name}[/]{note}  {why}")
        before, after = mark(step.before, step.after)
        console.print(f"    [dim]-[/] {before}\n    [dim]+[/] {after}")
        console.print(f"    [dim]{escape(step.cites)}, rung: {step.rung.name.lower()}[/]")
    if not url_trace.steps:
        console.print("\n  no rule changes it: it is canonical")
    console.print()
    key = f"{url_trace.key.hex()}  (policy {versioned_name(url_trace.policy)})"
    for fact, text, style in (
        ("request", url_trace.url, "none"),
        ("identity", url_trace.identity, "bold"),
        ("key", key, "none"),
        *(("caution", caution.value, "none") for caution in url_trace.cautions),
    ):
        name, shown = beside(fact, text, console, _FACTS)
        colour = "yellow" if fact == "caution" else "none"
        console.print(f"  [{colour}]{name}[/][{style}]{escape(shown)}[/]")


def mark(before: str, after: str) -> tuple[str, str]:
    """Return both texts as markup, with the difference highlighted."""
    head, tail = common_ends(before, after)

    def marked(text: str, colour: str) -> str:
        middle = text[head : len(text) - tail]
        shown = f"[{colour}]{escape(middle)}[/]" if middle else ""
        return f"{escape(text[:head])}{shown}{escape(text[len(text) - tail :])}"

    return marked(before, "red strike"), marked(after, "green underline")


def listed(found: object, *, as_json: bool, more: str = "") -> int:
    """Print a listing: one JSON object, or the tables that its fields declare; return exit code 0.

    Args:
        found: a struct.
        as_json: print JSON.
        more: what to say if the listing has more rows.
    """
    if as_json:
        print_json(found)
        return 0
    for title, columns, rows in tables_of(found):
        headings = [column.title for column in columns]
        table(title, headings, [[column.cell(row) for column in columns] for row in rows])
    if getattr(found, "has_more", False):
        notify(f"there are more: {more}")
    return 0


def table(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[object]],
    console: Console | None = None,
) -> None:
    """Print a table: in a box if it fits, else each row as a block; in a pipe, each row as a line.

    Sentences are broken between words, and nothing else is. A column without texts is left out, and
    so is a table without rows.
    """
    if not rows:
        return
    console = console or out()
    texts = [list(map(_on_one_line, column)) for column in zip(*rows, strict=True)]
    columns = [(name, cells) for name, cells in zip(headings, texts, strict=True) if any(cells)]
    console.print(Text(title, "bold"))
    if not console.is_terminal:
        widths = [_widest(name, cells) for name, cells in columns]
        for line in zip(*((name, *cells) for name, cells in columns), strict=True):
            aligned = map(_aligned, line, widths, (cells for _name, cells in columns))
            console.print(Text("  ".join(aligned).rstrip()))
    elif sum(_least(cells, name) + 3 for name, cells in columns) < console.width:
        boxed = Table(box=SQUARE)
        for name, cells in columns:
            is_number = all(map(_NUMBER.fullmatch, cells))
            least, justify = _least(cells, name), "right" if is_number else "left"
            boxed.add_column(
                Text(name),
                min_width=least,
                no_wrap=least == _widest(name, cells),
                justify=cast("JustifyMethod", justify),
            )
        for row in zip(*(cells for _name, cells in columns), strict=True):
            boxed.add_row(*map(Text, row))
        console.print(boxed)
    else:
        _blocks(columns, console)
    console.print()


_NUMBER = re.compile(r"[\d,.]*%?")
_SENTENCE = 16  # characters that a line of a sentence has at least


def _on_one_line(value: object) -> str:
    """Return a cell without line ends and tabs."""
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return named(text.translate({ord("\n"): " ", ord("\t"): " "}))


def _least(cells: Sequence[str], heading: str) -> int:
    """Return how narrow a column can be: as its longest word, and a sentence not much narrower."""
    words = max(cell_len(word) for text in (heading, *cells) for word in text.split() or [""])
    return max(words, min(_SENTENCE, _widest(heading, cells)))


def _widest(heading: str, cells: Sequence[str]) -> int:
    return max(map(cell_len, (heading, *cells)))


def _aligned(cell: str, width: int, cells: Sequence[str]) -> str:
    """Return a cell as wide as its column; numbers end at its right."""
    blanks = " " * (width - cell_len(cell))
    return f"{blanks}{cell}" if all(map(_NUMBER.fullmatch, cells)) else f"{cell}{blanks}"


def _blocks(columns: Sequence[tuple[str, Sequence[str]]], console: Console) -> None:
    """Print each row as a block: a line for each cell, beside its heading."""
    width = max(cell_len(name) for name, _cells in columns) + 2
    for number in range(len(columns[0][1])):
        if number:
            console.print()
        for heading, cells in columns:
            if cell := cells[number]:
                shown = cell if len(cell) <= MOST else f"{cell[:MOST]}…"  # such as a megabyte
                name, text = beside(heading, shown, console, width)
                console.print(f"  [dim]{escape(name)}[/]{escape(text)}")


@contextmanager
def byte_progress(total: int | None, what: str) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on a terminal; yields a function that takes the bytes just read."""
    console = err()
    if not console.is_terminal or total is None or LOUDNESS.quiet:
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


@contextmanager
def row_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on a terminal; yields a function that takes new rows, and all rows."""
    console = err()
    if not console.is_terminal or LOUDNESS.quiet:
        yield lambda _count, _total: None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar, displaying(console):
        task = bar.add_task(what, total=None)
        yield lambda count, total: bar.update(task, advance=count, total=total)


def print_json(found: object) -> None:
    """Print one JSON object."""
    click.echo(escaped(msgspec.json.format(msgspec.json.encode(found), indent=2)))

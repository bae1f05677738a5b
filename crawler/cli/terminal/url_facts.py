"""Print what a store knows of one URL: a line for each fact."""

from rich.console import Console
from rich.markup import escape

from canonry.crawler.cli.terminal import render
from canonry.crawler.inquiry.url_answer import URLAnswer, lines

_WIDTH = 11  # of the names on the left
_COLOURS = {"fetched": "green", "redirected": "green", "queued": "cyan", "never-seen": "cyan"}


def show_facts(answer: URLAnswer, console: Console) -> None:
    """Print what a store knows of a URL: a line for each fact, with its name on the left."""
    console.print()
    for line in lines(answer):
        style = f"bold {_COLOURS.get(answer.state, 'yellow')}" if line.name == "state" else "none"
        show(line.name, line.text, console, style)


def show(name: str, text: str, console: Console, style: str = "none") -> None:
    """Print a fact, with its name on the left."""
    shown_name, shown = render.beside(name, " ".join(text.split()), console, _WIDTH)
    console.print(f"  [dim]{shown_name}[/][{style}]{escape(shown)}[/]")

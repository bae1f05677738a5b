"""The manual pages, ``man canonry``: one for each command, with all commands of a group."""

import re
from inspect import cleandoc
from typing import TYPE_CHECKING

from click import Argument, Context, Group, Option

from canonry.crawler.cli.commands import COMMANDS, EXAMPLES
from canonry.crawler.cli.commands import main as root
from canonry.crawler.cli.described import Described
from canonry.crawler.cli.exit_codes import EXIT_CODES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from click import Command


def man_names() -> list[str]:
    """Return the names of all pages, without the section."""
    return ["canonry", *(f"canonry-{name}" for name in COMMANDS)]


def man_page(name: str) -> str:
    """Return a page, in the man macros of roff."""
    lines = [f'.TH {name.upper()} 1 "" Canonry "Canonry\'s manual"']
    if name == "canonry":
        lines += _page_of_all()
    else:
        word = name.partition("-")[2]
        command = root.get_command(Context(root), word)
        assert command is not None  # noqa: S101 - it is listed
        lines += _page_of(word, command)
    lines += [".SH EXIT STATUS"]
    for code, meaning in EXIT_CODES.items():
        lines += [".TP", str(code), _text(f"{meaning}.")]
    others = [other for other in man_names() if other != name][: None if name == "canonry" else 1]
    lines += [".SH SEE ALSO", _text(", ".join(f"{other}(1)" for other in others))]
    return "\n".join(lines) + "\n"


def _page_of_all() -> list[str]:
    """Return the page of the whole command, but for its ends."""
    lines = [".SH NAME", _text("canonry - decide which URLs are the same, and say why")]
    lines += [".SH SYNOPSIS", ".B canonry", r"\fICOMMAND\fR [\fIOPTION\fR]... [\fIARGUMENT\fR]..."]
    lines += [".SH DESCRIPTION", *_paragraphs(root.help), ".SH COMMANDS"]
    for name, listed in COMMANDS.items():
        lines += [".TP", rf"\fBcanonry\-{_text(name)}\fR(1)", _text(f"{listed.help}.")]
    lines += [".SH OPTIONS", *_options(root), *_examples(EXAMPLES)]
    lines += [".SH ENVIRONMENT"]
    for variable, meaning in (
        ("CANONRY_SECTION_KEY", "A setting, as CANONRY_CRAWL_DELAY is delay in [crawl]."),
        ("NO_COLOR", "If it is set, nothing is coloured."),
        ("COLUMNS", "The width of tables and help, where they are not on a terminal."),
    ):
        lines += [".TP", f".B {_text(variable)}", _text(meaning)]
    return lines


def _page_of(name: str, command: "Command") -> list[str]:
    """Return the page of a command, but for its ends."""
    short = command.get_short_help_str(limit=200).rstrip(".")
    lines = [".SH NAME", _text(f"canonry-{name} - {short[:1].lower()}{short[1:]}")]
    lines.append(".SH SYNOPSIS")
    every = list(_below(name, command))
    for place, (path, one) in enumerate(every):
        lines += [".br"] if place else []
        lines += [f".B canonry {_text(path)}", _usage(one)]
    lines += [".SH DESCRIPTION", *_paragraphs(command.help)]
    if not isinstance(command, Group):
        return [*lines, ".SH OPTIONS", *_options(command), *_examples(_shown(command))]
    for path, one in every:
        own = _options(one)[: -len(_options(command))]  # without those of every command
        lines += [f'.SH "{_text(path.upper())}"', *_paragraphs(one.help), *own]
    lines += [".SH OPTIONS OF EVERY COMMAND", *_options(command)]
    return [*lines, *_examples([e for _path, one in every for e in _shown(one)])]


def _below(name: str, command: "Command") -> "Iterator[tuple[str, Command]]":
    """Yield a command, or those of a group, each with its words."""
    if not isinstance(command, Group):
        yield name, command
        return
    context = Context(command)
    for word in command.list_commands(context):
        one = command.get_command(context, word)
        assert one is not None  # noqa: S101 - the group listed it
        yield from _below(f"{name} {word}", one)


def _usage(command: "Command") -> str:
    """Return what follows the name of a command."""
    words = [p.make_metavar(Context(command)) for p in command.params if isinstance(p, Argument)]
    return _text(" ".join(["[OPTION]...", *words]))


def _options(command: "Command") -> list[str]:
    """Return a list of the options of a command."""
    lines = []
    context = Context(command, help_option_names=["-h", "--help"])
    for option in command.get_params(context):
        record = option.get_help_record(context) if isinstance(option, Option) else None
        if record is not None:
            lines += [".TP", rf"\fB{_text(record[0])}\fR", _text(record[1])]
    return lines


def _shown(command: "Command") -> "Sequence[str]":
    """Return the examples of a command."""
    return command.examples if isinstance(command, Described) else ()


def _examples(examples: "Sequence[str]") -> list[str]:
    """Return the section of examples."""
    if not examples:
        return []
    return [".SH EXAMPLES", ".nf", *map(_text, examples), ".fi"]


def _paragraphs(text: str | None) -> list[str]:
    """Return a docstring as paragraphs."""
    lines: list[str] = []
    for paragraph in cleandoc(text or "").split("\n\n"):
        lines += [".PP", *map(_text, paragraph.splitlines())]
    return lines[1:]


def _text(text: str) -> str:
    """Return a text without anything that roff would read as its own."""
    text = re.sub(r" +", " ", text.replace("\\", r"\e").replace("-", r"\-"))
    return rf"\&{text}" if text.startswith((".", "'")) else text

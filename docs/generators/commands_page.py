"""The page of commands: made from their definitions."""

from collections import Counter
from inspect import cleandoc
from typing import TYPE_CHECKING

from click import Context, Group, Option, Parameter

from canonry.crawler.cli.commands import main as command
from canonry.crawler.cli.described import examples_of
from canonry.crawler.cli.setting_options import SettingOption

if TYPE_CHECKING:
    from collections.abc import Iterator

    from click import Command

_SEVERAL = 2  # commands with an option: it is explained once


def commands_page() -> str:
    """Return the page of commands, from their definitions."""
    lines = [
        "# The command",
        "",
        "Most people need these:",
        "",
        "| command | |",
        "|---|---|",
        "| `canonry crawl https://example.com/` | crawl a site; the same command again resumes |",
        "| `canonry status` | what a crawl has found so far |",
        "| `canonry why URL` | why a URL was or was not fetched |",
        "| `canonry export pages -o pages.csv` | the pages of a crawl, as a table |",
        "| `canonry dedup urls.txt -o distinct.txt` | one line for each distinct resource |",
        "| `canonry explain URL` | which rules change a URL, and why |",
        "",
        "`canonry COMMAND --help` prints the options of one. This page has all of them;",
        "`make docs` makes it from `crawler/cli/`.",
        "",
    ]
    lines += [_paragraphs(command.help), ""]
    lines += [
        "Every command has `-q` (`--quiet`): say only what went wrong; `-v` (`--verbose`): also",
        "say what a report of a bug needs; and `-h` (`--help`). What programs may rely on is",
        "on pages of their own: [exit codes](exit-codes.md), [JSON](json.md).",
        "",
    ]
    common = _common()
    lines += ["## Options of several commands", "", *common, ""]
    for name, sub in _commands(command):
        words = " ".join(p.make_metavar(Context(sub)) for p in sub.params if _is_argument(p))
        lines += [
            f"## `canonry {name}{f' {words}' if words else ''}`",
            "",
            _paragraphs(sub.help),
            "",
        ]
        options = [
            p for p in sub.params if isinstance(p, Option) and p.expose_value and not p.hidden
        ]
        if of_settings := [p for p in options if isinstance(p, SettingOption)]:
            flags = ", ".join(f"`{_usage(p)}`" for p in of_settings)
            lines.append(f"- {flags}: [settings](settings.md), where each is explained.")
            options = [p for p in options if p not in of_settings]
        shared = [option for option in options if _line(option) in common]
        lines += [_line(option) for option in options if _line(option) not in common]
        if shared:
            names = ", ".join(f"`{option.opts[0]}`" for option in shared)
            lines.append(f"- {names}: [of several commands](#options-of-several-commands)")
        if not isinstance(sub, Group):
            lines += ["", "```sh", *examples_of(sub, Context(sub)), "```"]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _common() -> list[str]:
    """Return the lines of options that several commands have: of each name the most frequent."""
    counted = Counter(
        (p.opts[0], _line(p))
        for _name, sub in _commands(command)
        for p in sub.params
        if isinstance(p, Option) and p.expose_value and not isinstance(p, SettingOption)
    )
    by_name: dict[str, str] = {}
    for (name, line), times in counted.most_common():
        if times >= _SEVERAL:
            by_name.setdefault(name, line)
    return sorted(by_name.values())


def _line(option: Option) -> str:
    """Return what an option means, as an item of a list."""
    default = _default(option)
    return f"- `{_usage(option)}`: {option.help or ''}{f' Default: {default}' if default else ''}"


def _commands(group: Group, before: str = "") -> "Iterator[tuple[str, Command]]":
    """Yield commands with their names; the commands of a group follow it."""
    context = Context(group)
    for name in sorted(group.list_commands(context)):
        sub = group.get_command(context, name)
        assert sub is not None  # noqa: S101 - the group listed it
        yield before + name, sub
        if isinstance(sub, Group):
            yield from _commands(sub, f"{before}{name} ")


def _paragraphs(text: str | None) -> str:
    """Return a docstring without its indentation."""
    return cleandoc(text or "")


def _is_argument(parameter: Parameter) -> bool:
    """Return True if a parameter is an argument, not an option."""
    return parameter.param_type_name == "argument"


def _usage(option: Option) -> str:
    """Return an option as users type it."""
    if option.is_flag:
        return option.opts[0]
    choices = getattr(option.type, "choices", None)
    value = "|".join(choices) if choices else option.metavar or (option.name or "").upper()
    return f"{option.opts[0]} {value}"


def _default(option: Option) -> str:
    """Return the default of an option, as code."""
    if not option.show_default or option.default is None or option.is_flag:
        return ""
    return f"`{', '.join(option.default) if option.multiple else option.default}`"

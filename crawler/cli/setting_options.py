"""Options that are settings: each is made from what the table of settings declares."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, get_args, get_origin

import click

from canonry.crawler.cli.described import Described, NamedFile
from canonry.crawler.settings.declared import HOSTS, OPTIONS, TABLE, Declared
from canonry.crawler.settings.sections import GROUPS

_Command = TypeVar("_Command", bound=Callable[..., Any])
_BY_PATH = {one.path: one for keys in TABLE.values() for one in keys.values()}


class SettingOption(click.Option):
    """An option that is a setting."""

    def __init__(self, _names: object = None, *, declared: Declared, **more: Any) -> None:  # noqa: ANN401 - click's
        """Make the option that a setting declares."""
        flag, setting, kind = declared.option, declared.setting, declared.hint.__origin__
        is_list, is_switch = get_origin(kind) is tuple, kind is bool
        choices = get_args(kind) if isinstance(declared.default, str) else ()
        super().__init__(
            [f"{flag}/--no-{flag[2:]}" if is_switch else flag, declared.key],
            type=click.Choice(choices) if choices else str if is_list else kind,
            default=None,
            multiple=is_list,
            metavar=setting.metavar or None,
            help=setting.text + (" Can be repeated." if is_list else _default(declared)),
            hidden=setting.is_unlisted,
            **more,
        )
        self.declared = declared


def _default(declared: Declared) -> str:
    """Return what holds without an option, as its help says it; "" if that is nothing."""
    value = declared.setting.unset or declared.default
    if isinstance(value, bool):
        value = "yes" if value else "no"
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    return f"  [default: {shown}]" if shown else ""


def setting_options(*keys: str) -> Callable[[_Command], _Command]:
    """Add the options of these settings, or of all that have one."""

    def add(command: _Command) -> _Command:
        for declared in reversed(OPTIONS):
            if not keys or declared.key in keys:
                command = click.option(cls=SettingOption, declared=declared)(command)
        return command

    return add


def by_section(flags: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the parameters of a command that are settings, by section and key."""
    found: dict[str, dict[str, Any]] = {}
    for one in OPTIONS:
        value = flags.get(one.key)
        if value is not None and value != ():
            typed = list(value) if isinstance(value, tuple) else value
            found.setdefault(one.section, {})[one.key] = typed
    return found


def typed(values: Mapping[str, Any]) -> str:
    """Return settings, by names such as ``crawl.max_pages``, as they are typed in a shell."""
    return " ".join(word for path, value in values.items() for word in _words(path, value))


def name_of(path: str) -> str:
    """Return what is typed before the value of a setting."""
    declared = _BY_PATH.get(path)
    return (declared.flag if declared else "") or "--config"


def _words(path: str, value: Any) -> list[str]:  # noqa: ANN401 - of its key
    """Return a setting as it is typed."""
    name = name_of(path)
    if isinstance(value, bool) and name != "--config":
        return [name if value else f"--no-{name[2:]}"]
    values = value if isinstance(value, list) else [value]
    texts = [
        str(one).lower() if isinstance(one, bool) else str(one).removesuffix(".0") for one in values
    ]
    if name == "--config" and path != "config":
        texts = [f"{path}={' '.join(texts)}"]
    return [f"{name} {shlex.quote(text)}" for text in texts]


config_option = click.option(
    "--config",
    multiple=True,
    type=NamedFile("file", [f"{path}=" for path in _BY_PATH if not path.startswith(HOSTS)]),
    metavar="FILE|KEY=VALUE",
    help="Read settings from FILE (TOML), or set one: crawl.first='*/product/*'. 'canonry "
    "settings' lists them. Can be repeated.",
)


class Grouped(Described):
    """A command with many options: the help shows them in groups."""

    def __init__(self, *args: Any, groups: Mapping[str, Sequence[str]], **more: Any) -> None:  # noqa: ANN401 - click's
        """Make a command.

        Args:
            args: as click takes them.
            groups: titles, with the names of options that are no settings.
            more: as click takes them.
        """
        super().__init__(*args, **more)
        self.groups = {
            title: (
                *groups.get(title, ()),
                *(one.key for one in OPTIONS if one.setting.group == title),
            )
            for title in dict.fromkeys((*GROUPS, *groups))
        }

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options group by group."""
        options = {str(p.name).removeprefix("_click_default_"): p for p in self.get_params(ctx)}
        for title, names in self.groups.items():
            with formatter.section(title):
                records = (options[name].get_help_record(ctx) for name in names)
                formatter.write_dl([record for record in records if record])

"""The page of settings, and the file of defaults: both made from the table of settings."""

import textwrap
from inspect import cleandoc

from msgspec import inspect

from canonry.canon.policies.allowed import in_words, shown
from canonry.crawler.settings.declared import HOSTS, SECTIONS, TABLE, Declared
from canonry.crawler.settings.sections import HostSettings

_WIDTH = 100  # of the file
# What needs no words beside the default.
_PLAIN = {"a text", "true or false", "a list, of which each item is a text"}
_HEAD = """# Settings

`make docs` makes this page, and [config/canonry.toml](../../config/canonry.toml), from the table of
settings. A line has the key, its default, what is allowed, and the option of `canonry crawl`, if
there is one; `--config SECTION.KEY=VALUE` reaches each.

Options of `canonry crawl` override the environment, the environment overrides the file that
`--config` names, and the file overrides these defaults. The variable of a key is
`CANONRY_CRAWL_DELAY` for `delay` in `[crawl]`. The items of a list are separated by blanks there;
headers have a line each.
"""
_FILE_HEAD = """# All settings of Canonry, with their defaults; "make docs" writes this file.
# Copy what you want to change into a file of your own, and give that file with --config.
# Command-line options override --config crawl.delay=2, which sets one key. That overrides the
# environment (CANONRY_CRAWL_DELAY=2), the environment overrides the file, and the file overrides
# these defaults.
"""


def settings_page() -> str:
    """Return the page."""
    lines = _HEAD.splitlines()
    for section, keys in TABLE.items():
        lines += ["", f"## [{section}]", ""]
        if section == HOSTS:
            lines += [*_about_hosts().splitlines(), ""]
        for one in keys.values():
            allowed, option = in_words(inspect.type_info(one.hint)), one.flag and f"`{one.flag}`"
            notes = ", ".join(filter(None, ("" if allowed in _PLAIN else allowed, option)))
            default = "" if section == HOSTS else f" = `{_value(one)}`"
            beside = f" ({notes})" if notes else ""
            lines.append(f"- `{one.key}`{default}{beside}: {_text(one).replace('<', '&lt;')}")
    return "\n".join(lines) + "\n"


def settings_file() -> str:
    """Return the file of defaults."""
    lines = _FILE_HEAD.splitlines()
    for section, keys in TABLE.items():
        lines += ["", f"[{section}]"]
        if section == HOSTS:
            lines += [*_comment(" ".join(_about_hosts().split())), "#"]
            lines.append('# [hosts."a.example"]')
        for one in keys.values():
            lines += _comment(_text(one))
            is_example = section == HOSTS
            lines.append(f"{'# ' if is_example else ''}{one.key} = {_value(one)}")
    return "\n".join(lines) + "\n"


def _about_hosts() -> str:
    """Return what the tables for hosts are."""
    return cleandoc(HostSettings.__doc__ or "").replace("``", "`")


def _comment(text: str) -> list[str]:
    """Return a text as lines of comments."""
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent="# ",
        subsequent_indent="# ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _text(one: Declared) -> str:
    """Return all that is declared of a setting."""
    return f"{one.setting.text} {one.setting.more}".strip()


def _value(one: Declared) -> str:
    """Return a default, or the example of what has none, as TOML has it."""
    return one.setting.example if one.section not in SECTIONS else shown(one.default)

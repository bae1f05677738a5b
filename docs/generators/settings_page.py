"""The page of settings: made from the defaults, the types of the keys, and the options of crawl."""

import re
import tomllib
from collections.abc import Iterator
from typing import get_type_hints

from click import Command, Option
from msgspec import inspect

from canonry.canon.policies import read_shipped
from canonry.canon.policies.allowed import in_words, shown
from canonry.crawler.cli.crawl.crawl_command import crawl
from canonry.crawler.settings.sections import HOSTS, SECTIONS, HostSettings

_KEY = re.compile(r"(\w+) = ")
_FLAGS = {"headers": "--header", "enabled": "--learn"}
# What needs no words beside the default.
_PLAIN = {"a text", "true or false", "a list, of which each item is a text"}
_HEAD = """# Settings

`make docs` makes this page from [config/canonry.toml](../../config/canonry.toml), which has the
same texts, and from the types of the keys. A line has the key, its default, what is allowed, and
the option of `canonry crawl`, if there is one.

Options of `canonry crawl` override the environment, the environment overrides the file that
`--config` names, and the file overrides these defaults. The variable of a key is
`CANONRY_CRAWL_DELAY` for `delay` in `[crawl]`. The items of a list are separated by blanks there;
headers have a line each.
"""
_HOSTS = """A table for each host: `[hosts."a.example"]`, or `[hosts."*.a.example"]` for all hosts
below a.example. A host's own table overrides that of a domain, and a nearer domain's that of a
farther one. All keys can be left out.

"""


def settings_page() -> str:
    """Return the page."""
    text = read_shipped("canonry.toml")
    defaults = tomllib.loads(text)
    meanings = _meanings(text)
    flags = set(_flags(crawl))
    lines = _HEAD.splitlines()
    for section, struct in SECTIONS.items():
        lines += ["", f"## [{section}]", ""]
        for key, kind in get_type_hints(struct, include_extras=True).items():
            flag = _FLAGS.get(key, f"--{key.replace('_', '-')}")
            option = f"`{flag}`" if flag in flags else ""
            allowed = in_words(inspect.type_info(kind))
            notes = ", ".join(filter(None, ("" if allowed in _PLAIN else allowed, option)))
            given = f"`{key}` = `{shown(defaults[section][key])}`{f' ({notes})' if notes else ''}"
            meaning = meanings[section][key].replace("<", "&lt;")
            if meaning.startswith("see `"):  # it shares the text of the key above
                before, _colon, shared = lines[-1].partition(": ")
                lines[-1] = f"{before}, {given}: {shared}"
            else:
                lines.append(f"- {given}: {meaning}")
    lines += ["", f"## [{HOSTS}]", "", *_HOSTS.splitlines()]
    for key, kind in get_type_hints(HostSettings, include_extras=True).items():
        lines.append(f"- `{key}`: {in_words(inspect.type_info(kind))}")
    return "\n".join(lines) + "\n"


def _meanings(text: str) -> dict[str, dict[str, str]]:
    """Return the comment above each key, by section; keys in a row share one."""
    found: dict[str, dict[str, str]] = {}
    section, comment, above = "", [""], ""
    for line in text.splitlines():
        if line.startswith("["):
            section, comment = line.strip("[]"), []
            found[section] = {}
        elif line.startswith("#"):
            comment.append(line[1:].strip())
        elif key := _KEY.match(line):
            found[section][key[1]] = " ".join(comment) or f"see `{above}`"
            above = key[1] if comment else above
            comment = []
    return found


def _flags(command: Command) -> Iterator[str]:
    """Yield the options of a command."""
    for parameter in command.params:
        if isinstance(parameter, Option):
            yield from parameter.opts

"""The command ``settings``: the settings of a crawl in force here, and the source of each."""

from typing import Any

import msgspec

from canonry.canon import redaction
from canonry.crawler.cli.described import described, json_option
from canonry.crawler.cli.ending import with_exit_code
from canonry.crawler.cli.setting_options import config_option
from canonry.crawler.cli.terminal import render
from canonry.crawler.cli.terminal.render import print_json
from canonry.crawler.settings import load
from canonry.crawler.settings.header_lines import without_secrets
from canonry.crawler.settings.sources import origins


class SettingJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A setting of a crawl."""

    section: str
    key: str
    value: Any
    source: str  # "default", a file and line, or a variable


class SettingsJSON(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a crawl that are in force."""

    settings: list[SettingJSON]


@described("canonry settings", "canonry settings --config my.toml --json")
@config_option
@json_option
@with_exit_code
def settings(config: tuple[str, ...], *, as_json: bool) -> int:
    """Show the settings of a crawl, and where each comes from.

    The options of a crawl override them. Variables such as CANONRY_CRAWL_DELAY override the file,
    and the file overrides the defaults. Passwords and other secrets are shown as ***.
    """
    plain = msgspec.to_builtins(load(config, {}))
    shown: Any = redaction.redact_all(without_secrets(plain))
    found = [
        SettingJSON(section=section, key=key, value=_value(shown, section, key), source=source)
        for section, keys in origins(config).items()
        for key, source in keys.items()
    ]
    if as_json:
        print_json(SettingsJSON(settings=found))
        return 0
    for section in dict.fromkeys(one.section for one in found):
        lines = [
            (one.key, _text(one.value), "" if one.source == "default" else one.source)
            for one in found
            if one.section == section
        ]
        render.table(section.capitalize(), ("key", "value", "from"), lines)
    return 0


def _value(shown: Any, section: str, key: str) -> Any:  # noqa: ANN401 - plain data
    """Return a value as the program reads it."""
    return shown.get(section, {}).get(key)


def _text(value: object) -> str:
    """Return a value as TOML has it."""
    return msgspec.json.encode(value).decode()

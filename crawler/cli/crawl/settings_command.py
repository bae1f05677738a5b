"""The command ``settings``: the settings of a crawl in force here, and the source of each."""

from typing import Annotated, Any

import msgspec

from canonry.canon import redaction
from canonry.crawler.cli.described import described, json_option
from canonry.crawler.cli.setting_options import config_option
from canonry.crawler.cli.terminal import render
from canonry.crawler.settings.header_lines import without_secrets
from canonry.crawler.settings.sources import loaded
from canonry.storage.shown import Shown


def _path(one: "SettingJSON") -> str:
    return f"{one.section}.{one.key}"


def _text(one: "SettingJSON") -> str:
    """Return a value about as TOML has it."""
    return msgspec.json.encode(one.value).decode().replace('","', '", "')


def _source(one: "SettingJSON") -> str:
    return "" if one.source == "default" else one.source


class SettingJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A setting of a crawl."""

    section: Annotated[str, Shown("setting", _path)]
    key: str
    value: Annotated[Any, Shown("value", _text)]
    source: Annotated[str, Shown("from", _source)]  # "default", a file and line, or a variable


class SettingsJSON(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a crawl that are in force."""

    settings: Annotated[list[SettingJSON], Shown("Settings")]


@described("canonry settings", "canonry settings --config my.toml --json")
@config_option
@json_option
def settings(config: tuple[str, ...], *, as_json: bool) -> int:
    """Show the settings of a crawl, and where each comes from.

    The options of a crawl override them. Variables such as CANONRY_CRAWL_DELAY override the file,
    and the file overrides the defaults. Passwords and other secrets are shown as ***.
    """
    in_force, origins, _given = loaded(config, {})
    shown: Any = redaction.redact_all(without_secrets(msgspec.to_builtins(in_force)))
    found = [
        SettingJSON(
            section=section,
            key=key,
            value=value,
            source=origins.get(f"{section}.{key}", "default"),
        )
        for section, values in shown.items()
        for key, value in values.items()
    ]
    return render.listed(SettingsJSON(settings=found), as_json=as_json)

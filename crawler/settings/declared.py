"""The table of settings, made from what the fields of the sections declare."""

from collections.abc import Mapping
from typing import Any, NamedTuple, get_type_hints

import msgspec
from msgspec import structs

from canonry.crawler.settings.sections import HostSettings, Setting, Settings


class Declared(NamedTuple):
    """A setting as it is declared."""

    section: str
    key: str
    hint: Any  # its annotation
    default: Any
    setting: Setting

    @property
    def path(self) -> str:
        """Return its name: ``crawl.max_pages``."""
        return f"{self.section}.{self.key}"

    @property
    def flag(self) -> str:
        """Return its option as it is typed; "" if the help has none."""
        return self.option if self.setting.group else ""

    @property
    def option(self) -> str:
        """Return its option, if it has one."""
        return f"--{self.setting.option or self.key.replace('_', '-')}"


HOSTS = "hosts"
SECTIONS: dict[str, type[msgspec.Struct]] = {
    key: kind for key, kind in get_type_hints(Settings).items() if key != HOSTS
}


def _declared(section: str, struct: type[msgspec.Struct]) -> dict[str, Declared]:
    """Return what a struct declares, by key."""
    hints = get_type_hints(struct, include_extras=True)
    return {
        field.name: Declared(section, field.name, hint, field.default, setting)
        for field in structs.fields(struct)
        for hint in [hints[field.name]]
        for setting in hint.__metadata__
        if isinstance(setting, Setting)
    }


# All settings, by section and key.
TABLE: Mapping[str, Mapping[str, Declared]] = {
    name: _declared(name, struct) for name, struct in (SECTIONS | {HOSTS: HostSettings}).items()
}
OPTIONS = [
    one
    for keys in TABLE.values()
    for one in keys.values()
    if one.setting.group or one.setting.is_unlisted
]
# Keys that people look for, and what there is.
HINTS = {"robots": "robots.txt is always obeyed; max_crawl_delay limits the pause that it asks for"}
HINTS_OF_HOSTS = HINTS | {
    "max_per_host": "it is max_pages here",
    "concurrency": "it is requests_per_host here",
}

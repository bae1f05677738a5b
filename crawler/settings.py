"""Settings: defaults, a file, the environment, flags, each over the one before; faults are told."""

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from canonry.canon.policies import read_shipped

_Positive = Annotated[int, Meta(ge=1)]
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_Seconds = Annotated[float, Meta(ge=0, le=86_400)]


class SettingsError(ValueError):
    """Settings that cannot be used; the message names the source, the key and what is allowed."""


class Crawl(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to crawl and how fast; each key is explained in ``config/canonry.toml``."""

    user_agent: Annotated[str, Meta(min_length=1, pattern=r"^[A-Za-z_-]+(/\S+)?$")]
    contact: Annotated[str, Meta(pattern=r"^[ -~]*$")]
    delay: _Seconds
    concurrency: Annotated[int, Meta(ge=1, le=10_000)]
    requests_per_host: _Positive
    address_delay: _Seconds
    requests_per_address: Annotated[int, Meta(ge=0)]
    delay_factor: Annotated[float, Meta(ge=0, le=100)]
    workers: Annotated[int, Meta(ge=1, le=256)]
    warc: str
    log: str
    metrics: Annotated[str, Meta(pattern=r"^(\S+:)?[0-9]*$")]
    scope: Literal["host", "domain", "prefix", "any"]
    max_pages: Annotated[int, Meta(ge=0)]
    max_depth: Annotated[int, Meta(ge=-1)]
    first: tuple[str, ...]
    max_hops: Annotated[int, Meta(ge=0, le=100)]
    max_crawl_delay: _Seconds
    recrawl_after: Annotated[str, Meta(pattern=r"^([0-9]+(\.[0-9]+)?[smhdw]?)?$")]
    respect_nofollow: bool
    embeds: bool
    sitemaps: bool
    policy: str

    @property
    def token(self) -> str:
        """Return the name that robots.txt files are searched for (RFC 9309 section 2.2.1)."""
        return self.user_agent.partition("/")[0]

    @property
    def recrawl_seconds(self) -> float | None:
        """Return after how many seconds a page is asked for again; None is never."""
        if not self.recrawl_after:
            return None
        unit = _UNITS.get(self.recrawl_after[-1])
        return float(self.recrawl_after) if unit is None else float(self.recrawl_after[:-1]) * unit


class Fetch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to ask; each key is explained in ``config/canonry.toml``."""

    timeout: Annotated[float, Meta(gt=0)]
    connect_timeout: Annotated[float, Meta(gt=0)]
    max_body: _Positive
    retries: Annotated[int, Meta(ge=0, le=100)]
    retry_wait: _Seconds
    allow_private: bool
    ca_file: str
    connect_to: tuple[str, ...]


class Traps(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which links are held as endless; each key is explained in ``config/canonry.toml``."""

    max_url: _Positive
    max_segments: _Positive
    max_repeats: _Positive
    max_links: _Positive
    max_per_pattern: Annotated[int, Meta(ge=0)]
    max_per_host: Annotated[int, Meta(ge=0)]


class Learn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether to learn which URLs are equal; each key is explained in ``config/canonry.toml``."""

    enabled: bool
    thresholds: str


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings, by section."""

    crawl: Crawl
    fetch: Fetch
    traps: Traps
    learn: Learn


def load(file: str | None, flags: dict[str, dict[str, Any]]) -> Settings:
    """Return the settings that hold.

    Args:
        file: a TOML file, or None.
        flags: what the command line gave, by section and key; None values were not given.

    Raises:
        SettingsError: naming the source, the key and what is allowed.

    Flags go over the environment (``CANONRY_CRAWL_DELAY`` is ``delay`` in ``[crawl]``), that over
    the file, and that over the defaults.
    """
    settings = tomllib.loads(read_shipped("canonry.toml"))
    if file is not None:
        _merge(settings, _read(file), file)
    _take_environment(settings)
    given = {
        section: {key: value for key, value in keys.items() if value is not None}
        for section, keys in flags.items()
    }
    _merge(settings, given, "command line")
    return _convert(settings, "command line")


def _take_environment(settings: dict[str, Any]) -> None:
    """Lay what the environment says over settings; other variables of ours name no section."""
    for name, text in sorted(os.environ.items()):
        prefix, _, rest = name.partition("_")
        section, _, key = rest.lower().partition("_")
        if prefix != "CANONRY" or section not in settings:
            continue
        value: Any = text
        default = settings[section].get(key, "")
        if isinstance(default, list):
            value = text.split()
        elif not isinstance(default, str):
            try:
                value = tomllib.loads(f"value = {text.lower()}")["value"]
            except tomllib.TOMLDecodeError:
                raise SettingsError(
                    f"{name}={text}: write it as in TOML; it is {str(default).lower()} now"
                ) from None
        _merge(settings, {section: {key: value}}, name)


def _read(file: str) -> dict[str, Any]:
    """Read a settings file."""
    try:
        return tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{file}: {error.strerror}; give a file that can be read") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: not TOML: {error}") from None


def _merge(settings: dict[str, Any], over: dict[str, Any], source: str) -> None:
    """Lay one source over another, and check it at once, so that errors name the right one."""
    for section, values in over.items():
        if section not in settings:
            allowed = ", ".join(f"[{name}]" for name in settings)
            raise SettingsError(f"{source}: no section [{section}]; allowed are {allowed}")
        if not isinstance(values, dict):
            raise SettingsError(f"{source}: {section!r} is a section; write [{section}]")
        if unknown := sorted(values.keys() - settings[section].keys()):
            allowed = ", ".join(settings[section])
            message = f"{source}: no key {unknown[0]!r} in [{section}]; allowed are {allowed}"
            raise SettingsError(message)
        settings[section] |= values
    _convert(settings, source)


def _convert(settings: dict[str, Any], source: str) -> Settings:
    """Check types and ranges."""
    try:
        return msgspec.convert(settings, Settings)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{source}: {error}") from None

"""Settings: defaults, then a file, then the environment, then the command line."""

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
    """Invalid settings. The message names the source, the key and what is allowed."""


class CrawlSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to crawl, and how fast. ``config/canonry.toml`` explains each key."""

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
        """Return the product token, which selects the groups of a robots.txt (RFC 9309, 2.2.1)."""
        return self.user_agent.partition("/")[0]

    @property
    def recrawl_seconds(self) -> float | None:
        """Return the age in seconds at which a page is fetched again, or None for never."""
        if not self.recrawl_after:
            return None
        unit = _UNITS.get(self.recrawl_after[-1])
        return float(self.recrawl_after) if unit is None else float(self.recrawl_after[:-1]) * unit


class FetchSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to send requests. ``config/canonry.toml`` explains each key."""

    timeout: Annotated[float, Meta(gt=0)]
    connect_timeout: Annotated[float, Meta(gt=0)]
    max_body: _Positive
    retries: Annotated[int, Meta(ge=0, le=100)]
    retry_wait: _Seconds
    allow_private: bool
    ca_file: str
    connect_to: tuple[str, ...]


class TrapSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits against endless sites. ``config/canonry.toml`` explains each key."""

    max_url: _Positive
    max_segments: _Positive
    max_repeats: _Positive
    max_links: _Positive
    max_per_pattern: Annotated[int, Meta(ge=0)]
    max_per_host: Annotated[int, Meta(ge=0)]


class LearnSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether and how to learn rules. ``config/canonry.toml`` explains each key."""

    enabled: bool
    thresholds: str


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings, by section."""

    crawl: CrawlSettings
    fetch: FetchSettings
    traps: TrapSettings
    learn: LearnSettings


def load(file: str | None, flags: dict[str, dict[str, Any]]) -> Settings:
    """Return the settings to use.

    The command line overrides the environment, where ``CANONRY_CRAWL_DELAY`` is ``delay`` in
    ``[crawl]``. The environment overrides the file, and the file overrides the defaults.

    Args:
        file: a TOML file, or None.
        flags: the options of the command line, by section and key. None means "not given".

    Raises:
        SettingsError: names the source, the key and what is allowed.
    """
    settings = tomllib.loads(read_shipped("canonry.toml"))
    if file is not None:
        _merge(settings, _read(file), file)
    _merge_environment(settings)
    given = {
        section: {key: value for key, value in keys.items() if value is not None}
        for section, keys in flags.items()
    }
    _merge(settings, given, "command line")
    return _convert(settings, "command line")


def _merge_environment(settings: dict[str, Any]) -> None:
    """Override settings by the environment. Variables that name no section are not settings."""
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
                    f"{name}={text}: not a TOML value; the default is {str(default).lower()}"
                ) from None
        _merge(settings, {section: {key: value}}, name)


def _read(file: str) -> dict[str, Any]:
    """Read a settings file."""
    try:
        return tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: not TOML: {error}") from None


def _merge(settings: dict[str, Any], over: dict[str, Any], source: str) -> None:
    """Override settings by one source, and check them, so that errors name that source."""
    for section, values in over.items():
        if section not in settings:
            allowed = ", ".join(f"[{name}]" for name in settings)
            raise SettingsError(f"{source}: no section [{section}]; allowed are {allowed}")
        if not isinstance(values, dict):
            raise SettingsError(f"{source}: {section!r} is a section: write [{section}]")
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

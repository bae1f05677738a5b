"""The settings ``CANONRY_…`` of a Scrapy project: read and checked."""

from pathlib import Path
from typing import NamedTuple

from scrapy.settings import BaseSettings

from canonry.crawler.named_policies import DEFAULT_POLICY, find_policy, read_rules
from canonry.crawler.settings import SettingsError
from canonry.storage.sql.engine import read_url
from canonry.storage.sql.store_errors import StoreURLError

_NAMES = ("CANONRY_ENABLED", "CANONRY_LEARN", "CANONRY_POLICY", "CANONRY_RULES", "CANONRY_STORE")
_FILE = "canonry.db"


class AdapterSettings(NamedTuple):
    """The settings of a Scrapy project for Canonry."""

    store: str  # a file, or a SQLAlchemy URL
    policy: str | None  # a preset, or a TOML file; None: the store's, web for a new one
    rules: str | None  # a file of learned rules
    learn: bool


def read_settings(settings: BaseSettings) -> AdapterSettings:
    """Read the settings.

    Raises:
        SettingsError: for an unknown name, or a value of a wrong type.
    """
    for name in settings:
        if str(name).startswith("CANONRY_") and name not in _NAMES:
            raise SettingsError(
                f"{name}: there is no such setting; allowed are {', '.join(_NAMES)}"
            )
    job = settings.get("JOBDIR")
    store = _text(settings, "CANONRY_STORE") or str(Path(job, _FILE) if job else _FILE)
    return AdapterSettings(
        store=store,
        policy=_text(settings, "CANONRY_POLICY"),
        rules=_text(settings, "CANONRY_RULES"),
        learn=read_switch(settings, "CANONRY_LEARN"),
    )


def check_settings(settings: BaseSettings) -> None:
    """Check that the policy, the rules and the store of the settings can be used.

    Raises:
        SettingsError: for a value that cannot be used.
        PolicyError, RulesError: for a policy or rules that cannot be used.
    """
    found = read_settings(settings)
    policy = find_policy(found.policy or DEFAULT_POLICY)
    if found.rules is not None:
        read_rules(found.rules).check_policy(policy.label)
    try:
        read_url(found.store)
    except StoreURLError as error:
        raise SettingsError(f"CANONRY_STORE: {error}") from None


def read_switch(settings: BaseSettings, name: str) -> bool:
    """Return a boolean setting, which is True by default.

    Raises:
        SettingsError: for a value that is neither.
    """
    try:
        return settings.getbool(name, default=True)
    except ValueError:
        raise SettingsError(f"{name}: {settings.get(name)!r}; give True or False") from None


def _text(settings: BaseSettings, name: str) -> str | None:
    """Return a setting that is a text or a path; None if it is not given."""
    value = settings.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str | Path):
        raise SettingsError(f"{name}: {value!r}; give a text in quotes, or a Path")
    return str(value)

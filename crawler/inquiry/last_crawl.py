"""The last crawl into a store: its settings, its seeds and its policy, as stored in its job."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection

from canonry.canon import Canonicalizer, Policy
from canonry.canon.policies import PolicyError, versioned_name
from canonry.crawler.admission.scope import Scope
from canonry.crawler.admission.url_filter import URLFilter
from canonry.crawler.opening import policy_of_label
from canonry.crawler.run.job import lease_owners, preparation
from canonry.crawler.settings import Settings, SettingsError, load
from canonry.crawler.settings.declared import HOSTS, SECTIONS
from canonry.crawler.settings.sections import HostSettings
from canonry.storage import StoreError
from canonry.storage.facts import read_facts
from canonry.storage.reading import known_url
from canonry.storage.rows import urls
from canonry.storage.sql.stored_json import stored_json

# Jobs are stored without the values of these keys.
_SECRET = frozenset({"headers", "basic_auth", "cookies", "proxy"})


class LastCrawl(NamedTuple):
    """The last crawl; times are seconds since 1970."""

    state: str  # running, interrupted, finished or failed
    started_at: float
    ended_at: float | None
    settings: Settings
    seeds: tuple[str, ...]  # without passwords
    listed: int  # more seeds, from lists that the store does not keep

    @property
    def is_running(self) -> bool:
        """Return True if it has not ended."""
        return self.state == "running"


def last_crawl(connection: Connection) -> LastCrawl | None:
    """Return the last crawl; None if the store has none, as after a dedup."""
    row = known_url.last_crawl(connection)
    if row is None:
        return None
    job = lease_owners.corrected(row)
    stored = stored_json(job["settings"], "jobs", job["id"])
    return LastCrawl(
        state=job["state"],
        started_at=job["started_at"],
        ended_at=job["ended_at"],
        settings=_settings(stored.get("settings", {})),
        seeds=tuple(map(str, stored.get("seeds", ()))),
        listed=stored.get("listed", {}).get("count", 0),
    )


def settings_of(crawl: LastCrawl | None) -> Settings:
    """Return the settings of a crawl; without one, those that hold here."""
    return load(None, {}) if crawl is None else crawl.settings


def _settings(stored: Mapping[str, Mapping[str, Any]]) -> Settings:
    """Return the settings of a job, which another version may have written.

    Keys that are unknown today, and those of which a job has only "***", are left out. Newer keys
    have their defaults, as all have if a value is not allowed any more.
    """
    usable = {section: _usable(stored.get(section, {}), kind) for section, kind in SECTIONS.items()}
    tables = stored.get(HOSTS, {}).items()
    usable[HOSTS] = {name: _usable(table, HostSettings) for name, table in tables}
    try:
        return load(None, usable)
    except SettingsError:
        return load(None, {})


def _usable(stored: Mapping[str, Any], kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the keys of a section or a table that are known today."""
    names = set(kind.__struct_fields__) - _SECRET
    return {key: value for key, value in stored.items() if key in names}


def policy_of(connection: Connection, crawl: LastCrawl | None, name: str | None = None) -> Policy:
    """Return the policy that made a store's keys.

    Args:
        connection: to the store.
        crawl: its last crawl, which names the file of a policy that is no preset.
        name: a preset, or a TOML file, if the user gave one.

    Raises:
        PolicyError: for a name that names no policy.
        StoreError: if the keys were made under another policy, or under one whose file is needed.
    """
    label = read_facts(connection)["policy"]
    if name is not None:
        return policy_of_label(label, name)
    for one in (crawl.settings.crawl.policy if crawl is not None else None, None):
        with suppress(PolicyError, StoreError):
            return policy_of_label(label, one)
    raise StoreError(
        f"its keys were made under policy {versioned_name(label)}; give its file with --policy"
    )


def limits_of(
    connection: Connection, crawl: LastCrawl, canonicalizer: Canonicalizer
) -> URLFilter | None:
    """Return the URL filter of a crawl, with its scope; None if its seeds cannot be read.

    If lists had seeds, all hosts are in scope: the store does not keep the lists.
    """
    limits = crawl.settings.crawl
    kind = "any" if crawl.listed else limits.scope
    try:
        scope = Scope(kind, (), limits.include, limits.exclude)
        url_filter = URLFilter(canonicalizer, scope, crawl.settings)
        if crawl.seeds:
            preparation.read_seeds(crawl.seeds, (), url_filter, lambda _message: None)
    except (SettingsError, ValueError):
        return None
    for target in urls.seed_targets(connection):
        url_filter.extend_scope(target)
    return url_filter

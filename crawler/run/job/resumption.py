"""Resumption: the seeds and the options of the last crawl into a store, for one that resumes it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from canonry.canon import redaction
from canonry.crawler.files.inputs import ListedSeed
from canonry.storage import State
from canonry.storage.facts import recorded_policy
from canonry.storage.reading import known_url, report
from canonry.storage.sql import counts
from canonry.storage.sql.schema import urls
from canonry.storage.sql.stored_json import stored_json

_HIDDEN = "***"
_LIMIT = "crawl.max_pages"


class Resumed(NamedTuple):
    """The last crawl into a store."""

    has_ended: bool  # nothing is queued: its pages are fetched again, as the options of now say
    options: dict[str, Any]  # settings that were typed, by name; None: it may be a secret
    reached: int | None  # the limit of pages that stopped it; it is none of the options
    seeds: tuple[str, ...]
    listed: tuple[ListedSeed, ...]  # seeds that the store has only as URLs


def resumed(store_url: str, *, with_seeds: bool = False, is_again: bool = False) -> Resumed | None:
    """Return the crawl that a crawl into a store resumes; None if it resumes none.

    Args:
        store_url: a SQLAlchemy URL.
        with_seeds: read the seeds, too. This may read all URLs of the store.
        is_again: the pages of a crawl that is finished will be queued again.

    Raises:
        StoreError: if the store has another schema.
    """
    if recorded_policy(store_url) is None:
        return None
    with report.reading(store_url) as connection:
        job = known_url.last_crawl(connection)
        has_ended = not _number_in(connection, State.QUEUED)
        if job is None or (has_ended and not is_again):
            return None
        stored = stored_json(job["settings"], "jobs", job["id"])
        seeds, listed = _seeds(connection, stored) if with_seeds else ((), ())
        options = stored.get("options", {})
        limit = None if has_ended else options.get(_LIMIT) or None
        if limit is not None and limit <= _number_in(connection, State.FETCHED):
            del options[_LIMIT]  # it would stop the next crawl at once
        else:
            limit = None
        return Resumed(has_ended, options, limit, seeds, listed)


def _number_in(connection: Connection, state: State) -> int:
    """Return how many URLs are in a state."""
    name = state.name.lower()
    return sum(number for one, _, number in counts.read(connection, "urls") if one == name)


def _seeds(
    connection: Connection, job: Mapping[str, Any]
) -> tuple[tuple[str, ...], tuple[ListedSeed, ...]]:
    """Return the seeds of a job as they were given.

    A job has neither lists of seeds nor passwords. If it had any, its seeds are all URLs that have
    ever been a seed of the store.
    """
    given = tuple(map(str, job.get("seeds", ())))
    if "listed" not in job and not any(_HIDDEN in seed for seed in given):
        return given, ()
    is_seed = (urls.c.depth == 0, urls.c.hops == 0, urls.c.source_id.is_(None))
    found = connection.scalars(select(urls.c.url).where(*is_seed).order_by(urls.c.id))
    return (), tuple(ListedSeed(url, "a seed of the store") for url in found)


def without_secrets(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as a store may have them: None instead of what may be a secret.

    Args:
        options: values by names such as ``crawl.max_pages``.
    """
    return {name: None if _is_secret(name, value) else value for name, value in options.items()}


def _is_secret(name: str, value: object) -> bool:
    """Return True if the value of an option may be a secret, or a URL in it has a password."""
    if name == "fetch.headers" or redaction.redact_all(value) != value:
        return True
    return name == "fetch.proxy" and "@" in str(value)

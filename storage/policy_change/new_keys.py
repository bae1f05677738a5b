"""New keys: of every known URL, and of every target as it was given."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, func, select

from canonry.canon import Canonicalizer, InvalidURL, Refused
from canonry.storage.policy_change import worktables
from canonry.storage.seen.key_rows import rows_of_keys
from canonry.storage.sql.bulk import insert_rows
from canonry.storage.sql.schema import aliases, urls

_BATCH = 5_000  # rows in memory, and lost at most if the process is killed
GIVEN_KINDS = ("redirect", "canonical")  # of aliases whose target was given as text


class Policies(NamedTuple):
    """The policies of a change, as what makes their keys."""

    new: Canonicalizer
    old: Canonicalizer | None  # None: its file is not known


def fill_urls(source: Connection, work: Connection, policies: Policies, most: int = _BATCH) -> int:
    """Write the new keys of the next URLs; return how many there were, 0 at the end.

    Args:
        source: to the store.
        work: to the database of the work tables; the store, or another.
        policies: the old one and the new one.
        most: URLs at a time.
    """
    done = work.scalar(select(func.max(worktables.new_keys.c.url_id))) or 0
    query = select(urls.c.id, urls.c.url, urls.c.spelling).where(urls.c.id > done)
    rows = source.execute(query.order_by(urls.c.id).limit(most)).all()
    texts = _texts(source, rows, policies)
    keys = [key_of(policies.new, text) for text in texts]
    found = [(row.id, key) for row, key in zip(rows, keys, strict=True)]
    insert_rows(work, worktables.new_keys, ("url_id", "key"), found)
    return len(rows)


def key_of(make: Canonicalizer, text: str) -> bytes:
    """Return the key of a text; one without a canonical form is an identity by itself."""
    try:
        return make(text).key
    except InvalidURL:
        return make.key_of(text)


def _texts(
    connection: Connection, rows: Sequence[Row[*tuple[Any, ...]]], policies: Policies
) -> list[str]:
    """Return the texts from which the keys of URLs were made.

    Mostly that is the URL. But a policy may keep fragments, or read what browsers repair; then the
    key can be that of the spelling. The text whose old key leads to the row is the right one.
    """
    texts = [row.url for row in rows]
    old = policies.old
    if old is not None and old.policy.dialect == "whatwg" and "fragment" in old.policy.practice:
        return texts
    for place, row in enumerate(rows):
        if row.spelling is not None:
            texts[place] = _source(connection, row.id, row.url, row.spelling, policies)
    return texts


def _source(connection: Connection, row: int, url: str, spelling: str, policies: Policies) -> str:
    """Return the text from which the key of one URL was made."""
    if policies.old is None:  # what the new policy requests for it shows whether it is a URL
        found = next(iter(policies.new.many([spelling])))
        return url if isinstance(found, Refused) or found.url != url else spelling
    by_key = {
        key_of(policies.old, text): text for text in (spelling.partition("#")[0], spelling, url)
    }
    known = rows_of_keys(connection, list(by_key))
    return next((by_key[key] for key, at in known.items() if at == row), url)


def fill_links(source: Connection, work: Connection, policies: Policies, most: int = _BATCH) -> int:
    """Write the new keys of the next targets; return how many there were, 0 at the end."""
    done = work.scalar(select(func.max(worktables.links.c.alias_id))) or 0
    query = select(aliases.c.id, aliases.c.to_id, aliases.c.located).where(
        aliases.c.id > done, aliases.c.kind.in_(GIVEN_KINDS)
    )
    rows = source.execute(query.order_by(aliases.c.id).limit(most)).all()
    found = zip(rows, policies.new.many([row.located for row in rows]), strict=True)
    keyed = [(row.id, row.to_id, None if isinstance(f, Refused) else f.key) for row, f in found]
    insert_rows(work, worktables.links, ("alias_id", "to_id", "key"), keyed)
    return len(rows)


def fill(
    step: Callable[[Callable[[Connection, Connection, Policies], int]], int],
) -> Iterator[int]:
    """Yield the number of URLs done so far, step by step, until all keys are made.

    Args:
        step: runs a function that fills, in a transaction of its own.
    """
    done = 0
    while number := step(fill_urls):
        done += number
        yield done
    while step(fill_links):
        yield done

"""What a change of policy would do: counts, with examples."""

from collections.abc import Callable
from typing import Any, NamedTuple

from sqlalchemy import Column, Connection, LargeBinary, MetaData, Table, func, select

from canonry.canon import Canonicalizer, InvalidURL, redact
from canonry.storage.copying.row_rewriting import (
    GIVEN,
    NewPolicy,
    fill,
    index,
    new_keys,
    targets_of,
)
from canonry.storage.rows.urls import raw_urls
from canonry.storage.sql.bulk import put, rows_of
from canonry.storage.sql.schema import aliases, urls
from canonry.storage.sql.tables.figure_tables import merges
from canonry.storage.sql.tables.table_parts import RowId

_BATCH = 5_000  # aliases in memory
_KNOWN = "SELECT key FROM rekey_urls WHERE key"
# Targets whose new key no URL has, each with its first alias.
_targets = Table(
    "rekey_targets",
    MetaData(),
    Column("key", LargeBinary(16), primary_key=True),
    Column("alias_id", RowId, nullable=False),
)


class Example(NamedTuple):
    """Two URLs that a change merges or separates."""

    url: str
    other: str
    rules: str  # that merge them, or did


class Forecast(NamedTuple):
    """What a change would do."""

    urls: int
    merged: int  # URLs that would become one with another
    split: int  # targets of aliases that would become URLs of their own
    apart: int  # merged links that would become distinct, by one sample for each set of rules
    merged_examples: list[Example]
    split_examples: list[Example]
    apart_examples: list[Example]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            name: [one._asdict() for one in value] if isinstance(value, list) else value
            for name, value in self._asdict().items()
        }


def foresee(
    source: Connection,
    work: Connection,
    plan: NewPolicy,
    advance: Callable[[int, int], None],
    most: int,
) -> Forecast:
    """Count what a change would do.

    Args:
        source: to the store.
        work: to an empty database, for the new keys.
        plan: the change.
        advance: called with numbers of URLs: done since the last call, and in all.
        most: examples of each kind.
    """
    number = source.scalar(select(func.count()).select_from(urls)) or 0
    new_keys.create(work)
    while done := fill(source, work, plan):
        advance(done, number)
    index(work)
    distinct = work.scalar(select(func.count(new_keys.c.key.distinct()))) or 0
    split, split_examples = _split(source, work, plan.new, most)
    apart, apart_examples = _apart(source, plan.new, most)
    return Forecast(
        urls=number,
        merged=number - distinct,
        split=split,
        apart=apart,
        merged_examples=_merged_examples(source, work, plan.merging_rules, most),
        split_examples=split_examples,
        apart_examples=apart_examples,
    )


def _split(
    source: Connection, work: Connection, make: Canonicalizer, most: int
) -> tuple[int, list[Example]]:
    """Return how many targets would become URLs; and some, each with the URL that it is today."""
    _targets.create(work)
    query = select(aliases.c.id, aliases.c.target_url).where(aliases.c.kind.in_(GIVEN))
    query = query.order_by(aliases.c.id).limit(_BATCH)
    after = 0
    while rows := source.execute(query.where(aliases.c.id > after)).all():
        after = rows[-1].id
        keys = targets_of(make, [row.target_url for row in rows])
        known = {key for (key,) in rows_of(work, _KNOWN, [key for key in keys if key is not None])}
        unknown = [
            {"key": key, "alias_id": row.id}
            for row, key in zip(rows, keys, strict=True)
            if key is not None and key not in known
        ]
        put(work, _targets, unknown, change=())
    number = work.scalar(select(func.count()).select_from(_targets)) or 0
    some = list(work.scalars(select(_targets.c.alias_id).limit(most)))
    examples = select(aliases.c.target_url, aliases.c.to_id, aliases.c.kind)
    found = source.execute(examples.where(aliases.c.id.in_(some))).all()
    texts = raw_urls(source, [row.to_id for row in found])
    return number, [
        Example(redact(row.target_url), redact(texts[row.to_id]), row.kind) for row in found
    ]


def _merged_examples(
    source: Connection, work: Connection, merging_rules: Callable[[str, str], str], most: int
) -> list[Example]:
    """Return some pairs of URLs that would become one."""
    several = select(func.min(new_keys.c.url_id), func.max(new_keys.c.url_id))
    several = several.group_by(new_keys.c.key).having(func.count() > 1)
    found = work.execute(several.limit(most)).all()
    texts = raw_urls(source, [url_id for pair in found for url_id in pair])
    pairs = [(texts[other], texts[one]) for one, other in found if {one, other} <= texts.keys()]
    return [Example(redact(u), redact(other), merging_rules(u, other)) for u, other in pairs]


def _apart(source: Connection, make: Canonicalizer, most: int) -> tuple[int, list[Example]]:
    """Return how many merged links would become distinct URLs, and some of them.

    The store has only one sample for each set of rules, which stands for all of its links.
    """
    number, examples = 0, []
    query = select(merges.c.rules, merges.c.count, merges.c.raw_url, merges.c.same_as)
    for rules, count, raw_url, same_as in source.execute(query.order_by(merges.c.count.desc())):
        try:
            same = make(raw_url).key == make(same_as).key
        except InvalidURL:
            continue
        if not same:
            number += count
            examples.append(Example(redact(raw_url), redact(same_as), rules))
    return number, examples[:most]

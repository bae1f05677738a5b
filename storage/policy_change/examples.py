"""What a change of policy would do: counts, with examples."""

from collections.abc import Callable
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, func, select

from canonry.canon import Canonicalizer, InvalidURL, redact
from canonry.storage.policy_change.worktables import links, new_keys
from canonry.storage.rows.urls import spellings
from canonry.storage.sql.schema import aliases
from canonry.storage.sql.tables.figure_tables import merges


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
    make: Canonicalizer,
    merging_rules: Callable[[str, str], str],
    most: int,
) -> Forecast:
    """Count what a change would do.

    Args:
        source: to the store.
        work: to the work tables, which hold all new keys.
        make: makes canonical forms under the new policy.
        merging_rules: names the rules that merge two spellings under it.
        most: examples of each kind.
    """
    number, distinct = work.execute(
        select(func.count(), func.count(new_keys.c.key.distinct()))
    ).one()
    apart, apart_examples = _apart(source, make, most)
    return Forecast(
        urls=number,
        merged=number - distinct,
        split=work.scalar(_split(func.count(links.c.key.distinct()))) or 0,
        apart=apart,
        merged_examples=_merged_examples(source, work, merging_rules, most),
        split_examples=_split_examples(source, work, most),
        apart_examples=apart_examples,
    )


def _split(what: ColumnElement[int]) -> Select[Any]:
    """Return a query about the targets whose new key no URL has."""
    query = select(what).select_from(links)
    query = query.outerjoin(new_keys, new_keys.c.key == links.c.key)
    return query.where(links.c.key.is_not(None), new_keys.c.url_id.is_(None))


def _merged_examples(
    source: Connection, work: Connection, merging_rules: Callable[[str, str], str], most: int
) -> list[Example]:
    """Return some pairs of URLs that would become one."""
    several = select(func.min(new_keys.c.url_id), func.max(new_keys.c.url_id))
    several = several.group_by(new_keys.c.key).having(func.count() > 1)
    found = work.execute(several.limit(most)).all()
    texts = spellings(source, [url_id for pair in found for url_id in pair])
    pairs = [(texts[other], texts[one]) for one, other in found if {one, other} <= texts.keys()]
    return [Example(redact(u), redact(other), merging_rules(u, other)) for u, other in pairs]


def _split_examples(source: Connection, work: Connection, most: int) -> list[Example]:
    """Return some targets that would become URLs, each with the URL that it is today."""
    alias_ids = list(
        work.scalars(_split(func.min(links.c.alias_id)).group_by(links.c.key).limit(most))
    )
    query = select(aliases.c.located, aliases.c.to_id, aliases.c.kind)
    found = source.execute(query.where(aliases.c.id.in_(alias_ids))).all()
    texts = spellings(source, [row.to_id for row in found])
    return [Example(redact(row.located), redact(texts[row.to_id]), row.kind) for row in found]


def _apart(source: Connection, make: Canonicalizer, most: int) -> tuple[int, list[Example]]:
    """Return how many merged links would become distinct URLs, and some of them.

    The store has only one sample for each set of rules, which stands for all of its links.
    """
    number, examples = 0, []
    query = select(merges.c.rules, merges.c.count, merges.c.spelling, merges.c.same_as)
    for rules, count, spelling, same_as in source.execute(query.order_by(merges.c.count.desc())):
        try:
            same = make(spelling).key == make(same_as).key
        except InvalidURL:
            continue
        if not same:
            number += count
            examples.append(Example(redact(spelling), redact(same_as), rules))
    return number, examples[:most]

"""Merges: counts and examples of links that rules merged."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from operator import itemgetter, not_
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, delete, select

from canonry.storage.records import Admission, Candidate
from canonry.storage.rows.pages import Tally
from canonry.storage.rows.urls import raw_urls
from canonry.storage.sql.bulk import insert_rows, next_id
from canonry.storage.sql.tables.figure_tables import merge_examples

# From two raw URLs of one identity to the rules that merge them; "" when they are spelled alike.
MergingRules = Callable[[str, str], str]

_RAW_URL = itemgetter(Candidate._fields.index("raw_url"))
_REMEMBERED = 1 << 14  # raw URLs: some 3 MiB
_EXAMPLES = 8  # the latest, of each set of rules
_LONGEST = 4_096  # characters of a link that is kept as an example
_COLUMNS = ("id", "rules", "raw_url", "url_id", "source_id", "seen_at")
_here = merge_examples.c.rules == bindparam("these")
_LATEST = select(merge_examples.c.id).where(_here).order_by(merge_examples.c.id.desc())
# Built once: building a statement takes longer than running it.
_DELETE_OLDER = delete(merge_examples).where(
    _here,
    merge_examples.c.id <= _LATEST.offset(_EXAMPLES).limit(1).correlate(None).scalar_subquery(),
)


class MergeExample(NamedTuple):
    """A link that was merged with a known URL."""

    raw_url: str
    url_id: int  # of that URL
    source: int | None  # id of the URL on whose page the link stood


class MergeCounter:
    """Counts merged links by the rules that merged them.

    Naming the rules of one raw URL costs a look-up and two traces, so the names are remembered:
    most links of a site stand on many of its pages. The memory is bounded and is cleared when full.
    """

    def __init__(self) -> None:
        """Start with nothing remembered."""
        self._names: dict[str, str] = {}

    def tally(
        self,
        connection: Connection,
        candidates: Sequence[Candidate],
        admissions: Sequence[Admission],
        merging_rules: MergingRules,
    ) -> tuple[Tally, dict[str, list[MergeExample]]]:
        """Count those of the admitted URLs that were known under another raw URL.

        Returns:
            The counts, and the latest examples for each set of rules.
        """
        names = self._names
        if len(names) > _REMEMBERED:
            names.clear()
        tally = Tally()
        examples: dict[str, list[MergeExample]] = {}
        times: dict[str, int] = {}
        url_ids: dict[str, int] = {}
        sources: dict[str, int | None] = {}
        # First all raw URLs that are the first of their URLs: no rules merge these.
        new = [admission.new for admission in admissions]
        names.update(dict.fromkeys(map(_RAW_URL, compress(candidates, new)), ""))
        known = zip(candidates, admissions, strict=True)
        for candidate, (url_id, _new, _replaces) in compress(known, map(not_, new)):
            raw_url = candidate.raw_url
            if names.get(raw_url) != "":
                times[raw_url] = times.get(raw_url, 0) + 1
                url_ids[raw_url] = url_id
                sources[raw_url] = candidate.source
        first = raw_urls(connection, set(url_ids.values()))
        for raw_url, count in times.items():
            same_as = first.get(url_ids[raw_url], "")
            rules = names.get(raw_url)
            if rules is None:
                rules = names[raw_url] = merging_rules(raw_url, same_as)
            if rules:
                tally.add(rules, raw_url, same_as, count=count)
                if len(raw_url) <= _LONGEST:
                    latest = examples.setdefault(rules, [])
                    latest.append(MergeExample(raw_url, url_ids[raw_url], sources[raw_url]))
                    del latest[:-_EXAMPLES]
        return tally, examples

    def names(self, raw_urls: Iterable[str]) -> dict[str, str]:
        """Return the rules for those of some raw URLs that the last tally counted, by raw URL."""
        return {raw_url: self._names[raw_url] for raw_url in raw_urls if raw_url in self._names}

    def clear(self) -> None:
        """Forget all names. They may rest on rows that were rolled back."""
        self._names.clear()


def put_examples(
    connection: Connection, examples: Mapping[str, Sequence[MergeExample]], now: float
) -> None:
    """Keep examples of merged links, by rules; only the latest of each set of rules stay."""
    if not examples:
        return
    first = next_id(connection, merge_examples)
    found = [(rules, example) for rules, some in sorted(examples.items()) for example in some]
    rows = [
        (first + n, rules, one.raw_url.replace("\0", "%00"), one.url_id, one.source, now)
        for n, (rules, one) in enumerate(found)
    ]
    insert_rows(connection, merge_examples, _COLUMNS, rows)
    connection.execute(_DELETE_OLDER, [{"these": rules} for rules in examples])

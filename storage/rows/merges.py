"""Merges: counts of links that rules merged."""

from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from operator import itemgetter, not_

from sqlalchemy import Connection

from canonry.storage.records import Admission, Candidate
from canonry.storage.rows.pages import Tally
from canonry.storage.rows.urls import raw_urls

# From two raw URLs of one identity to the rules that merge them; "" when they are spelled alike.
MergingRules = Callable[[str, str], str]

_RAW_URL = itemgetter(Candidate._fields.index("raw_url"))
_REMEMBERED = 1 << 14  # raw URLs: some 3 MiB


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
    ) -> Tally:
        """Count those of the admitted URLs that were known under another raw URL."""
        names = self._names
        if len(names) > _REMEMBERED:
            names.clear()
        tally = Tally()
        times: dict[str, int] = {}
        url_ids: dict[str, int] = {}
        # First all raw URLs that are the first of their URLs: no rules merge these.
        new = [admission.new for admission in admissions]
        names.update(dict.fromkeys(map(_RAW_URL, compress(candidates, new)), ""))
        known = zip(candidates, admissions, strict=True)
        for candidate, (url_id, _new, _replaces) in compress(known, map(not_, new)):
            raw_url = candidate.raw_url
            if names.get(raw_url) != "":
                times[raw_url] = times.get(raw_url, 0) + 1
                url_ids[raw_url] = url_id
        first = raw_urls(connection, set(url_ids.values()))
        for raw_url, count in times.items():
            same_as = first.get(url_ids[raw_url], "")
            rules = names.get(raw_url)
            if rules is None:
                rules = names[raw_url] = merging_rules(raw_url, same_as)
            if rules:
                tally.add(rules, raw_url, same_as, count=count)
        return tally

    def names(self, raw_urls: Iterable[str]) -> dict[str, str]:
        """Return the rules for those of some raw URLs that the last tally counted, by raw URL."""
        return {raw_url: self._names[raw_url] for raw_url in raw_urls if raw_url in self._names}

    def clear(self) -> None:
        """Forget all names. They may rest on rows that were rolled back."""
        self._names.clear()

"""Merges: which rules made a link the same as a known URL."""

from collections.abc import Callable, Sequence

from sqlalchemy import Connection

from canonry.storage.records import Admission, Candidate
from canonry.storage.rows.pages import Tally
from canonry.storage.rows.urls import spellings

# From two spellings of one identity to the rules that merge them; "" when they are spelled alike.
MergingRules = Callable[[str, str], str]

_REMEMBERED = 1 << 17


class MergeCounter:
    """Counts merged links by the rules that merged them.

    Naming the rules of one spelling costs a look-up and two traces, so the names are remembered:
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
        """Count those of the admitted URLs that were known under another spelling."""
        names = self._names
        if len(names) > _REMEMBERED:
            names.clear()
        tally = Tally()
        times: dict[str, int] = {}
        rows: dict[str, int] = {}
        for candidate, (row, new, _replaces) in zip(candidates, admissions, strict=True):
            spelling = candidate[1]
            if new:
                names[spelling] = ""
            elif names.get(spelling) != "":
                times[spelling] = times.get(spelling, 0) + 1
                rows[spelling] = row
        first = spellings(connection, set(rows.values()))
        for spelling, count in times.items():
            same_as = first.get(rows[spelling], "")
            rules = names.get(spelling)
            if rules is None:
                rules = names[spelling] = merging_rules(spelling, same_as)
            if rules:
                tally.add(rules, spelling, same_as, count=count)
        return tally

    def clear(self) -> None:
        """Forget all names. They may rest on rows that were rolled back."""
        self._names.clear()

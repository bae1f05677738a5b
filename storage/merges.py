"""Naming merges: which rules made a link the same as a URL that was known."""

from collections.abc import Callable, Sequence

from sqlalchemy import Connection

from storage.pages import Tally
from storage.records import Admission, Candidate
from storage.urls import spellings

# From two spellings of one identity to the rules that made them one, "" when spelled alike.
Why = Callable[[str, str], str]

_REMEMBERED = 1 << 16


class MergeNames:
    """Counts merged links by the rules that merged them.

    Asking a spelling's reason costs a look-up and two traces, so the answers are remembered: most
    links of a site stand on many of its pages. The memory is bounded; it is dropped when full.
    """

    def __init__(self) -> None:
        """Begin with nothing remembered."""
        self._names: dict[str, str] = {}

    def tally(
        self,
        connection: Connection,
        candidates: Sequence[Candidate],
        admissions: Sequence[Admission],
        why: Why,
    ) -> Tally:
        """Count those of the admitted URLs that were known under another spelling."""
        if len(self._names) > _REMEMBERED:
            self._names.clear()
        pairs = list(zip(candidates, admissions, strict=True))
        unnamed = {a.row for c, a in pairs if not a.new and c.spelling not in self._names}
        first = spellings(connection, unnamed)
        tally = Tally()
        for candidate, admission in pairs:
            if admission.new:
                self._names[candidate.spelling] = ""
                continue
            same_as = first.get(admission.row, "")
            rules = self._names.get(candidate.spelling)
            if rules is None:
                rules = self._names[candidate.spelling] = why(candidate.spelling, same_as)
            if rules:
                tally.add(rules, candidate.spelling, same_as)
        return tally

    def forget(self) -> None:
        """Drop what is remembered: what it rests on was rolled back."""
        self._names.clear()

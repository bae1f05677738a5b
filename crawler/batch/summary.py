"""The fate of each line of a dedup, and how many lines had each fate."""

from dataclasses import dataclass, field, replace
from typing import Self

import msgspec

from canonry.canon import redact, redaction

NOT_EXAMINED = "(not looked into)"  # instead of the rules that merged a line


class MergedLines(msgspec.Struct, frozen=True):
    """Lines that one set of rules merged with earlier ones."""

    rules: str  # joined by " + "
    lines: int
    line: str  # the first of them; "" if it was not kept
    same_as: str  # what that one equals


class NoURLError(Exception):
    """No line of a dedup is a URL."""

    def __init__(self, summary: "Summary") -> None:
        """Keep the summary, which says why."""
        super().__init__("no line is a URL")
        self.summary = summary


@dataclass(slots=True)
class Summary:
    """The counts of a dedup, with one sample of each kind."""

    lines: int = 0
    blank: int = 0
    distinct: int = 0
    exact: int = 0  # lines that repeat a spelling
    seen: int = 0  # lines whose resource was seen before, as the file of --seen says
    merged: dict[str, int] = field(default_factory=dict)
    merged_samples: dict[str, tuple[str, str]] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    refused_samples: dict[str, str] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)  # sources that could not be read to their end

    def check_read(self) -> None:
        """Fail if no URL was read, so that the outputs stay as they were.

        Raises:
            OSError: if sources broke off before the first line.
            NoURLError: if there are lines, and none is a URL.
        """
        if self.cut and not self.lines:
            raise OSError(f"{'; '.join(self.cut)}; no output was written")
        if self.refused and sum(self.refused.values()) == self.lines - self.blank:
            raise NoURLError(self)

    def refuse(self, reason: str, source: str, number: int, text: bytes) -> None:
        """Count a line that is no URL, and keep the first line of each reason as its sample."""
        self.refused[reason] = self.refused.get(reason, 0) + 1
        if reason not in self.refused_samples:
            shown = redaction.redact_refused(text.decode("utf-8", "replace"))[0][:200]
            self.refused_samples[reason] = f"{source}:{number}: {shown}"

    def merge(self, rules: str, text: str, same_as: str, count: int = 1) -> None:
        """Count lines that rules merged, and keep the first line of each as its sample."""
        self.merged[rules] = self.merged.get(rules, 0) + count
        if rules not in self.merged_samples:
            self.merged_samples[rules] = (redact(text), redact(same_as))

    def merges(self) -> list[MergedLines]:
        """Return what each set of rules merged, the largest count first."""
        found = sorted(self.merged.items(), key=lambda item: -item[1])
        return [MergedLines(rules, n, *self.merged_samples[rules]) for rules, n in found]

    def with_fates(self, counted: Self) -> Self:
        """Return this summary with another one's counts of the lines that are URLs."""
        return replace(
            self,
            distinct=counted.distinct,
            exact=counted.exact,
            seen=counted.seen,
            merged=counted.merged,
            merged_samples=counted.merged_samples,
        )

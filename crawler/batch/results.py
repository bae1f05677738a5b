"""What a dedup writes: the lines that are kept, every line's fate, the groups of equal ones."""

from collections.abc import Iterable, Sequence
from typing import IO

from canonry.canon import Canonicalizer, Refused
from canonry.crawler.batch.summary import Answer
from canonry.crawler.compression import write_all
from canonry.crawler.files.tables import Table, table

LINE_CONTENTS = ("url", "canonical", "key")
DISTINCT_COLUMNS = {"url": str, "canonical": str, "key": str, "source": str, "line": int}
MAP_COLUMNS = {"url": str, "same_as": str, "rules": str}
GROUP_COLUMNS = {"url": str, "spelling": str, "lines": int}


class DistinctLines:
    """The first of each resource: as lines, or as rows with all that is known of them."""

    def __init__(self, file: IO[bytes], form: str, written: str, make: Canonicalizer) -> None:
        """Bind where to.

        Args:
            file: open for writing.
            form: as `canonry.crawler.files.tables` has them.
            written: what a line of text is: the spelling, the canonical form or the key.
            make: makes identities.
        """
        self._file = file
        self._written = written
        self._make = make
        self._table: Table | None = None if form == "text" else table(file, form, DISTINCT_COLUMNS)
        self.is_plain = form == "text" and written == "url"

    def lines(self, data: bytes) -> None:
        """Write whole lines as they stand."""
        write_all(self._file, data)

    def write(self, source: str, numbers: Sequence[int], lines: Sequence[bytes]) -> None:
        """Write URLs, with where each was found."""
        if self.is_plain:
            self.lines(b"\n".join(lines) + b"\n" if lines else b"")
            return
        found = [one for one in self._make.many(lines) if not isinstance(one, Refused)]
        if self._table is None:
            texts = (
                one.identity if self._written == "canonical" else one.key.hex() for one in found
            )
            self.lines("".join(f"{text}\n" for text in texts).encode())
            return
        self._table.write(
            (as_read(line), one.identity, one.key.hex(), source, number)
            for line, one, number in zip(lines, found, numbers, strict=True)
        )

    def close(self) -> None:
        """Write what is left."""
        if self._table is not None:
            self._table.close()
        self._file.flush()


def as_read(line: bytes) -> str:
    """Return a line as text from which its bytes can be had again (PEP 383)."""
    return line.decode("utf-8", "surrogateescape")


def fate(answer: Answer) -> tuple[str, str, str]:
    """Return an answer as a row of a map: the line, its representative, and why.

    The third column is ``first``, ``repeated``, the rules that merged the line, or ``refused:`` and
    the reason.
    """
    text = as_read(answer.line.text)
    if answer.refused is not None:
        return text, "", f"refused: {answer.refused}"
    if answer.same_as is None:
        return text, text, "first"
    return text, answer.same_as, answer.rules or "repeated"


class Results:
    """Where what a job finds goes; each is closed where all is written."""

    def __init__(
        self,
        kept: DistinctLines | None = None,
        mapped: Table | None = None,
        groups: Table | None = None,
    ) -> None:
        """Bind what is asked for."""
        self.kept = kept
        self.mapped = mapped
        self.groups = groups

    def map(self, answers: Iterable[Answer]) -> None:
        """Write the fates of lines."""
        if self.mapped is not None:
            self.mapped.write(map(fate, answers))

    def close(self) -> None:
        """Write what is left."""
        for one in (self.kept, self.mapped, self.groups):
            if one is not None:
                one.close()

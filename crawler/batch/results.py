"""The outputs of a dedup: the lines that are kept, and the fate of every line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np
import numpy.typing as npt

from canonry.canon import Canonicalizer, Refused
from canonry.crawler.batch import key_set
from canonry.crawler.batch.summary import Answer
from canonry.crawler.compression import write_all
from canonry.crawler.files.blocks import Block
from canonry.crawler.files.parquet_rows import ParquetRowWriter
from canonry.crawler.files.tables import Table, format_of, table
from canonry.crawler.settings import SettingsError

LINE_CONTENTS = ("url", "canonical", "key")  # what a line of text may be
DISTINCT_COLUMNS = {"url": str, "canonical": str, "key": str, "source": str, "line": int}
MAP_COLUMNS = {"url": str, "same_as": str, "rules": str, "source": str, "line": int}
# A line, the first line of its resource, the reason, and the place of the line.
Fate = tuple[str, str, str, str, int]


class DistinctLines:
    """Writes the first line of each resource: as text, or as rows of `DISTINCT_COLUMNS`."""

    def __init__(
        self,
        file: IO[bytes],
        output_format: str,
        contents: str,
        canonicalizer: Canonicalizer,
        *,
        live: bool = False,
    ) -> None:
        """Write to a file.

        Args:
            file: open for writing.
            output_format: a key of `canonry.crawler.files.tables.OUTPUT_FORMATS`.
            contents: what a line of text is, one of `LINE_CONTENTS`.
            canonicalizer: makes canonical forms and keys.
            live: flush after each block.
        """
        is_text = output_format == "text"
        self._file = file
        self._contents = contents
        self.live = live
        self.is_empty = True
        self._canonicalizer = canonicalizer
        self._table = None if is_text else table(file, output_format, DISTINCT_COLUMNS)
        self._is_plain = is_text and contents == "url"

    def write_block(self, block: Block, mask: npt.NDArray[np.bool_]) -> None:
        """Write the lines of a block that a mask selects."""
        self.is_empty &= not mask.any()
        if self._is_plain and mask.all():
            write_all(self._file, block.data + b"\n")
        elif self._is_plain:
            write_all(self._file, key_set.selected(block, mask))
        elif mask.any():
            numbers = (np.flatnonzero(mask) + block.first).tolist()
            self.write(block.source, numbers, key_set.chosen(block, mask))
        if self.live:
            self._file.flush()

    def write(self, source: str, numbers: Sequence[int], lines: Sequence[bytes]) -> None:
        """Write URLs of a source, with their line numbers."""
        self.is_empty &= not lines
        if self._is_plain:
            write_all(self._file, b"\n".join(lines) + b"\n" if lines else b"")
            return
        canonicals = [
            canonical
            for canonical in self._canonicalizer.many(lines)
            if not isinstance(canonical, Refused)
        ]
        if self._table is None:
            texts = (
                canonical.identity if self._contents == "canonical" else canonical.key.hex()
                for canonical in canonicals
            )
            write_all(self._file, "".join(f"{text}\n" for text in texts).encode())
            return
        self._table.write(
            (as_read(line), canonical.identity, canonical.key.hex(), source, number)
            for line, canonical, number in zip(lines, canonicals, numbers, strict=True)
        )

    def close(self) -> None:
        """Write what is left; the file stays open."""
        if self._table is not None:
            self._table.close()
        self._file.flush()


class DistinctRows:
    """Writes the first row of each resource whole, in the format in which it was read."""

    def __init__(self, file: IO[bytes], name: str | None, *, live: bool = False) -> None:
        """Write to a file.

        Args:
            file: open for writing.
            name: of the file; None for standard output.
            live: flush after each block.
        """
        self.live = live
        self.is_empty = True
        self._file = file
        self._name = name
        self._first: tuple[str, str, bytes] | None = None  # source, format and header
        self._parquet: ParquetRowWriter | None = None

    def write_block(self, block: Block, mask: npt.NDArray[np.bool_]) -> None:
        """Write the rows of a block that a mask selects.

        Raises:
            OSError: this source has other columns than the first one.
            SettingsError: the name of the file promises another format.
        """
        rows = block.rows
        self.is_empty &= not mask.any()
        self._check(block.source, *(("lines", b"") if rows is None else (rows.format, rows.header)))
        if rows is None:
            write_all(self._file, key_set.selected(block, mask))
        elif rows.batch is not None:
            self._parquet = self._parquet or ParquetRowWriter(self._file, rows)
            self._parquet.write(rows.batch, mask)
        elif rows.ends:
            write_all(self._file, rows.of(mask))
        else:
            write_all(self._file, key_set.selected(block._replace(data=rows.data, ends=b""), mask))
        if self.live:
            self._file.flush()

    def _check(self, source: str, input_format: str, header: bytes) -> None:
        """Write the header of the first source, and check that other sources have the same."""
        if self._first is None:
            self._first = source, input_format, header
            promised = format_of(self._name)
            if promised not in {"text", input_format}:
                raise SettingsError(
                    f"-o {self._name}: --keep-rows keeps the format of the rows, and they are "
                    f"{input_format}; give the file another name"
                )
            if header and input_format != "parquet":
                write_all(self._file, header + b"\n")
        first, expected, columns = self._first
        if (input_format, header) != (expected, columns):
            differs = "other columns" if input_format == expected else "another format"
            raise OSError(f"--keep-rows: {source} has {differs} than {first}; give it by itself")

    def close(self) -> None:
        """Write what is left; the file stays open."""
        if self._parquet is not None:
            self._parquet.close()
        self._file.flush()


def as_read(line: bytes) -> str:
    """Return a line as text from which its bytes can be restored (PEP 383)."""
    return line.decode("utf-8", "surrogateescape")


def map_row(answer: Answer) -> Fate:
    """Return an answer as a row of a map.

    The third column is ``first``, ``repeated``, the rules that merged the line, ``seen`` if the
    resource was seen before, or ``refused:`` and the reason.
    """
    line = answer.line
    text = as_read(line.text)
    if answer.seen:
        same_as, reason = "", "seen"
    elif answer.refused is not None:
        same_as, reason = "", f"refused: {answer.refused}"
    elif answer.same_as is None:
        same_as, reason = text, "first"
    else:
        same_as, reason = answer.same_as, answer.rules or "repeated"
    return text, same_as, reason, line.source, line.number


@dataclass(frozen=True, slots=True)
class Results:
    """The outputs of a job; each is None if the job does not write it."""

    distinct: DistinctLines | DistinctRows | None = None
    mapped: Table | None = None

    @property
    def is_live(self) -> bool:
        """Return True if lines are output as they are decided, and cannot be taken back."""
        return self.distinct is not None and self.distinct.live

    def map(self, rows: Iterable[Fate]) -> None:
        """Write the fates of lines."""
        if self.mapped is not None:
            self.mapped.write(rows)

    def close(self) -> None:
        """Write what is left; the files stay open."""
        for one in (self.distinct, self.mapped):
            if one is not None:
                one.close()

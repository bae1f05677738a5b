"""The outputs of a dedup: the lines that are kept, and the fate of every line."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO

import msgspec
import numpy as np
import numpy.typing as npt

from canonry.canon import Canonicalizer, Refused
from canonry.crawler.batch.key_set import chosen, selected
from canonry.crawler.compression import write_all
from canonry.crawler.files.blocks import Block
from canonry.crawler.files.parquet_rows import ParquetRowWriter
from canonry.crawler.files.tables import Table, format_of
from canonry.crawler.settings import SettingsError


class DistinctURL(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a resource."""

    url: str  # as read
    canonical: str  # the canonical form
    key: str  # 32 hexadecimal digits
    source: str  # the file
    line: int  # in the file


class MappedLine(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a line."""

    url: str  # as read
    same_as: str  # the line that it duplicates, or itself
    rules: str  # first, repeated, seen, "refused:" and the reason, or the rules that merged it
    source: str  # the file; "-" is standard input
    line: int  # in that file, counted from 1, with a line of column names


Fate = tuple[str, str, str, str, int]  # the values of a `MappedLine`
_Mask = npt.NDArray[np.bool_]


class DistinctLines:
    """Writes the first line of each resource, as text."""

    def __init__(self, file: IO[bytes]) -> None:
        """Write to a file that is open for writing."""
        self._file = file

    def write(self, block: Block, mask: _Mask) -> None:
        """Write the lines of a block that a mask selects."""
        write_all(self._file, block.data + b"\n" if mask.all() else selected(block, mask))

    def close(self) -> None:
        """Write what is left; the file stays open."""
        self._file.flush()


class DistinctTable:
    """Writes the first line of each resource as a row: a `DistinctURL`."""

    def __init__(self, table: Table, canonicalizer: Canonicalizer) -> None:
        """Write to a table; the canonicalizer makes canonical forms and keys."""
        self._table = table
        self._canonicalizer = canonicalizer

    def write(self, block: Block, mask: _Mask) -> None:
        """Write the lines of a block that a mask selects."""
        lines, numbers = chosen(block, mask), (np.flatnonzero(mask) + block.first).tolist()
        self._table.write(
            (as_read(line), made.identity, made.key.hex(), block.source, number)
            for line, made, number in zip(
                lines, self._canonicalizer.many(lines), numbers, strict=True
            )
            if not isinstance(made, Refused)
        )

    def close(self) -> None:
        """Write what is left; the file stays open."""
        self._table.close()


class DistinctRows:
    """Writes the first row of each resource whole, in the format in which it was read."""

    def __init__(self, file: IO[bytes], name: str | None) -> None:
        """Write to a file.

        Args:
            file: open for writing.
            name: of the file; None for standard output.
        """
        self._file = file
        self._name = name
        self._first: tuple[str, str, bytes] | None = None  # source, format and header
        self._parquet: ParquetRowWriter | None = None

    def write(self, block: Block, mask: _Mask) -> None:
        """Write the rows of a block that a mask selects.

        Raises:
            OSError: this source has other columns than the first one.
            SettingsError: the name of the file promises another format.
        """
        rows = block.rows
        self._check(block.source, *(("lines", b"") if rows is None else (rows.format, rows.header)))
        if rows is not None and rows.batch is not None:
            self._parquet = self._parquet or ParquetRowWriter(self._file, rows)
            self._parquet.write(rows.batch, mask)
        elif rows is not None and rows.ends:
            write_all(self._file, rows.of(mask))
        else:
            lines = block if rows is None else block._replace(data=rows.data, ends=b"")
            write_all(self._file, selected(lines, mask))

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


@dataclass(slots=True)
class Results:
    """The outputs of a job; each is None if the job does not write it."""

    distinct: DistinctLines | DistinctTable | DistinctRows | None = None
    mapped: Table | None = None
    live: IO[bytes] | None = None  # the output, if lines go there as they are decided
    is_empty: bool = True  # no line was kept

    def keep(self, block: Block, mask: _Mask) -> None:
        """Write the lines of a block that a mask selects: those that are kept."""
        self.is_empty &= not mask.any()
        if self.distinct is not None:
            self.distinct.write(block, mask)
        if self.live is not None:
            self.live.flush()

    def map(self, rows: Iterable[Fate]) -> None:
        """Write the fates of lines."""
        if self.mapped is not None:
            self.mapped.write(rows)

    def close(self) -> None:
        """Write what is left; the files stay open."""
        for one in (self.distinct, self.mapped):
            if one is not None:
                one.close()

"""Whole rows beside their URLs, for outputs that keep all columns."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class ParquetBatch(NamedTuple):
    """Some rows of a Parquet file, and how that file is written."""

    rows: Any  # a pyarrow.RecordBatch; in a file of ours, the bytes of an Arrow stream
    codec: str  # by which it is compressed, as pyarrow names it
    group: int  # rows in its first row group


class Rows(NamedTuple):
    """The rows of a block, as they were read: one for each of its URLs."""

    format: str  # a row of `canonry.crawler.files.formats.INPUT_FORMATS`
    header: bytes  # the row of names, or Parquet's schema; b"" if there is none
    data: bytes  # lines, or with `ends`, rows that may have several lines
    ends: bytes = b""  # of rows in the data, 8 bytes each, little-endian
    batch: ParquetBatch | None = None  # instead of data

    def of(self, mask: npt.NDArray[np.bool_]) -> bytes:
        """Return the rows with `ends` that a mask selects, each with a line feed."""
        ends = np.frombuffer(self.ends, "<u8")
        starts = np.append(np.uint64(0), ends[:-1])
        spans = zip(starts[mask].tolist(), ends[mask].tolist(), strict=True)
        # What precedes a row are blank lines, and what ends it is its line end.
        return b"".join(self.data[start:end].strip(b"\r\n") + b"\n" for start, end in spans)


class RowBlock(NamedTuple):
    """URLs and their rows."""

    urls: list[bytes | None] | bytes  # None: a row has none, or is broken; bytes: one a line
    rows: Rows

"""Writing rows as lines, into files that appear whole or not at all."""

import csv
import gzip
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec


@contextmanager
def whole(path: str) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes its name when the block ends well, and is gone otherwise.

    A name that ends in ``.gz`` is compressed.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            if target.suffix == ".gz":
                with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def encoded(rows: Iterable[dict[str, Any]], form: str) -> Iterator[bytes]:
    """Encode rows as lines of ``jsonl`` or ``csv``, the latter under a line of names."""
    if form == "jsonl":
        for row in rows:
            yield msgspec.json.encode(row) + b"\n"
        return

    class Line:
        def write(self, text: str) -> str:
            return text

    writer = csv.writer(Line(), lineterminator="\n")
    for n, row in enumerate(rows):
        if n == 0:
            yield str(writer.writerow(row.keys())).encode()
        yield str(writer.writerow(row.values())).encode()

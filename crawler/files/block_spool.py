"""Blocks of streams, on disk: these are the ones that cannot be read a second time."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from canonry.crawler.compression import write_all
from canonry.crawler.files.blocks import Block
from canonry.crawler.files.rows.parquet_table import as_stream, of_stream

_T = TypeVar("_T")
_LENGTH = 8  # bytes


class BlockSpool:
    """Keeps blocks in a file, in order."""

    def __init__(self, path: Path) -> None:
        """Use a file, which is made anew."""
        self._path = path

    def copied(self, blocks: Iterator[tuple[Block, _T]]) -> Iterator[tuple[Block, _T]]:
        """Yield blocks with what is known of them, and keep each block."""
        with self._path.open("wb") as file:
            for block, found in blocks:
                data = msgspec.msgpack.encode(block, enc_hook=as_stream)
                write_all(file, len(data).to_bytes(_LENGTH) + data)
                yield block, found

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks that were kept."""
        with self._path.open("rb") as file:
            while length := file.read(_LENGTH):
                data = file.read(int.from_bytes(length))
                block = msgspec.msgpack.decode(data, type=Block)
                yield block if block.rows is None else block._replace(rows=of_stream(block.rows))

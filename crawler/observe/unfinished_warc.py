"""WARC files that get their final name when they are complete, also if their writer was killed.

A writer holds a lock on its file. So a file that can be locked has none, and the next crawl that
writes to the folder finishes it.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from multidict import CIMultiDict

from canonry import __title__
from canonry.crawler.compression import gz
from canonry.crawler.fetch.response import Response
from canonry.crawler.files.output import sync_folder
from canonry.crawler.observe.cdxj import CdxjIndex
from canonry.crawler.owned_files import abandoned
from canonry.crawler.plurals import counted

UNFINISHED = ".open"  # behind the final name
_GZIP = 31  # zlib's window bits
_SOME = 1 << 13  # bytes; many records are smaller
_LONGEST_HEADS = 1 << 20  # bytes of a record and its HTTP message, before the body


def finish(file: IO[bytes], path: Path, index: CdxjIndex) -> None:
    """Sync a file and write its index; then give it its final name.

    Args:
        file: with complete records only. It stays open: its lock is needed until it has its name.
        path: its name until now.
        index: of its records.
    """
    file.flush()
    os.fsync(file.fileno())
    index.write(path.parent)
    path.rename(path.with_suffix(""))
    sync_folder(path.parent)
    sync_folder(path.parent.parent)  # the folder itself may be new


def finish_abandoned(folder: str, notify: Callable[[str], None]) -> None:
    """Finish the files of a folder whose writer is dead, and report it.

    A record that was not completely written is removed, and so is a file without a response.

    Args:
        folder: with WARC files of crawls.
        notify: receives sentences for people.
    """
    files = responses = removed = 0
    for path in sorted(Path(folder).glob(f"{__title__}-*.warc.gz{UNFINISHED}")):
        try:
            with abandoned(path) as file:
                # A complete file of this name is a later copy of this one.
                if file is None or path.with_suffix("").exists():
                    continue
                length = _finish_to_last_record(file, path)
        except FileNotFoundError:  # its writer has just finished it
            continue
        except OSError as error:
            notify(f"canonry: {path} cannot be finished: {error.strerror or error}")
            continue
        files += length.responses > 0
        responses += length.responses
        removed += length.removed
    if files:
        cut = f"; {counted(removed, 'byte')} of incomplete records removed" if removed else ""
        notify(
            f"canonry: --warc {folder}: {counted(files, 'file')} of killed processes finished, "
            f"with {counted(responses, 'response')}{cut}"
        )


class _Finished(NamedTuple):
    """What a finished file has."""

    responses: int
    removed: int  # bytes


def _finish_to_last_record(file: IO[bytes], path: Path) -> _Finished:
    """Finish a locked file after its last complete record; delete one without a response."""
    index, end = CdxjIndex(path.with_suffix("").name), 0
    for heads, length in _records(file):
        _add(index, heads, (end, length))
        end += length
    removed = file.seek(0, os.SEEK_END) - end
    if not len(index):
        path.unlink()
        return _Finished(0, 0)
    file.truncate(end)
    finish(file, path, index)
    return _Finished(len(index), removed)


def _records(file: IO[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield the first bytes of each record, decompressed, and its length in the file.

    It ends at the first record that is not complete. Behind it nothing is searched: its body may be
    a WARC file itself.
    """
    start = 0
    while True:
        file.seek(start)
        member = gz.decompressobj(_GZIP)
        heads, length = b"", 0
        while not member.eof:
            part = file.read(_SOME)
            if not part:
                return
            length += len(part)
            try:
                heads += member.decompress(part)[: _LONGEST_HEADS - len(heads)]
            except gz.error:
                return
        length -= len(member.unused_data)
        yield heads, length
        start += length


def _add(index: CdxjIndex, heads: bytes, place: tuple[int, int]) -> None:
    """Add a record to the index of its file if it is a response or a revisit."""
    record, _, message = heads.decode("utf-8", "replace").partition("\r\n\r\n")
    _version, *lines = record.split("\r\n")
    about = _fields(lines)
    kind = about.get("WARC-Type")
    if kind not in {"response", "revisit"}:
        return
    status, *lines = message.partition("\r\n\r\n")[0].split("\r\n")
    url, digest, date = (about[f"WARC-{name}"] for name in ("Target-URI", "Payload-Digest", "Date"))
    response = Response(url, int(status.split(" ")[1]), _fields(lines), {}, b"", 0.0)
    index.add(response, digest, date, place, revisit=kind == "revisit")


def _fields(lines: Iterable[str]) -> CIMultiDict[str]:
    """Return the fields of a head as our writer writes them: each is one line."""
    split = (line.partition(":") for line in lines)
    return CIMultiDict((name, value.strip()) for name, _, value in split)

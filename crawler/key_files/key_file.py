"""A file of keys: its format, and how it is read. The format is in docs/reference/formats.md.

It has a header, two copies of its state, and parts. A part is sorted keys and an index of their
pages: the first half of each page's first key, and each page's checksum. If the two states differ,
the newer one is valid. Bytes after the last part that it names are ignored.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec
import numpy as np
import numpy.typing as npt

from canonry.crawler.compression import gz
from canonry.crawler.key_files.sorted_keys import (
    KEY_BYTES,
    KEYS_IN_PAGE,
    NO_KEYS,
    PAGE,
    Halves,
    Keys,
    among,
    as_keys,
    highs,
    is_sorted,
    joined,
    merged,
)
from canonry.crawler.locations import Ranges, ranges_of

_NAME = b"canonry keys "
VERSION = 1
MAGIC = b"%s%d\n" % (_NAME, VERSION)
RECORD = 4096  # bytes of the header, and of each state
STATES = (RECORD, 2 * RECORD)  # offsets of the states
BEGINNING = 3 * RECORD  # offset of the first part
INDEX_ROW = 12  # bytes for each page: 8 of its first key, 4 of its checksum
_SUM = 16  # bytes
_MOST_PAGES = 1024  # read at once
_GAP = 8  # unwanted pages that are read to save a call

_Pages = npt.NDArray[np.int64]
MayHave = Callable[[Keys, _Pages, _Pages], npt.NDArray[np.bool_]]


class KeyFileError(OSError):
    """A file is not a file of keys, or is damaged; the message names it."""


class KeyHeader(msgspec.Struct, frozen=True):
    """What a file of keys is; it never changes."""

    policy: str  # name/version of the policy that made the keys
    fingerprint: str  # of the policy's content


class KeyPart(msgspec.Struct, frozen=True):
    """Where some sorted keys are."""

    at: int  # bytes from the beginning of the file; after the keys comes their index
    keys: int
    index: str  # BLAKE2b-128 of the index, in hexadecimal
    job: str = ""  # what has added these keys; "" if it is not known, or cannot be repeated

    @property
    def pages(self) -> int:
        """Return the number of pages; the last one may not be full."""
        return -(-self.keys // KEYS_IN_PAGE)

    @property
    def index_at(self) -> int:
        """Return where the index is."""
        return self.at + self.keys * KEY_BYTES

    @property
    def end(self) -> int:
        """Return where the part ends."""
        return self.index_at + self.pages * INDEX_ROW


class KeyState(msgspec.Struct, frozen=True):
    """What a file of keys holds; a new state is in force when it is written whole."""

    generation: int = 0  # counts the states
    parts: tuple[KeyPart, ...] = ()  # the oldest keys first

    @property
    def id(self) -> str:
        """Return a hash of all that it says, and so of all keys."""
        return hashlib.blake2b(msgspec.json.encode(self), digest_size=_SUM).hexdigest()

    @property
    def keys(self) -> int:
        """Return the number of keys."""
        return sum(part.keys for part in self.parts)

    @property
    def end(self) -> int:
        """Return where the content of the file ends."""
        return max((part.end for part in self.parts), default=BEGINNING)


def as_record(magic: bytes, record: KeyHeader | KeyState) -> bytes:
    """Return a record in the format of the file, with a checksum at its end.

    Raises:
        ValueError: if it does not fit.
    """
    content = (magic + msgspec.json.encode(record) + b"\n").ljust(RECORD - _SUM, b"\0")
    if len(content) > RECORD - _SUM:
        raise ValueError("the record is too long")
    return content + hashlib.blake2b(content, digest_size=_SUM).digest()


def _content_of(record: bytes) -> bytes | None:
    """Return the content of a record; None if its checksum is wrong."""
    content, checksum = record[: RECORD - _SUM], record[RECORD - _SUM :]
    if len(record) != RECORD or hashlib.blake2b(content, digest_size=_SUM).digest() != checksum:
        return None
    return content.rstrip(b"\0")


def sums_of(data: bytes | memoryview) -> list[int]:
    """Return the CRC-32 of each page of some data."""
    view = memoryview(data)
    return [gz.crc32(view[at : at + PAGE]) for at in range(0, len(view), PAGE)]


class KeyFile:
    """A file of keys, open for reading, in the state that it had when it was opened."""

    def __init__(self, ranges: Ranges, may_have: MayHave | None = None) -> None:
        """Read a header and the newest state.

        Args:
            ranges: of the file.
            may_have: says of some sorted keys, given the first and the last page that may have
                each, False if the file does not have it. Then it has one part.

        Raises:
            KeyFileError: it is no file of keys, or a damaged one.
        """
        self.name = name = ranges.name
        self._ranges = ranges
        self._may_have = may_have
        self._indexes: dict[int, tuple[Halves, npt.NDArray[np.uint32]]] = {}
        self._held: tuple[Keys, Halves] | None = None
        first = self._read(0, RECORD)
        if not first.startswith(_NAME):
            raise KeyFileError(f"{name}: it is not a file of keys made by 'canonry dedup --seen'")
        version = first.removeprefix(_NAME).partition(b"\n")[0].decode("ascii", "replace")[:8]
        if version != f"{VERSION}":
            raise KeyFileError(
                f"{name}: its format has version {version}, and this program reads version "
                f"{VERSION}; use the program that made it"
            )
        content = _content_of(first)
        if content is None:
            raise self.damaged("its header")
        self.header = msgspec.json.decode(content[len(MAGIC) :], type=KeyHeader)
        states = [self._state(at) for at in STATES]
        found = [state for state in states if state is not None]
        if not found:
            raise self.damaged("its state")
        self.state = max(found, key=lambda state: state.generation)
        self.spare = STATES[states[0] == self.state]  # where the next state is written first
        self._has_two = len(found) == len(STATES)
        size = ranges.size
        if size is not None and size < self.state.end:
            raise self.damaged(f"it is truncated: {size:,} bytes instead of {self.state.end:,}")

    def __len__(self) -> int:
        """Return the number of keys."""
        return self.state.keys

    @property
    def pages(self) -> int:
        """Return how many pages of keys there are."""
        return sum(part.pages for part in self.state.parts)

    def _state(self, at: int) -> KeyState | None:
        """Return the state at an offset; None if it is damaged, or was never written."""
        content = _content_of(self._read(at, RECORD))
        return None if content is None else msgspec.json.decode(content, type=KeyState)

    def check_states(self) -> None:
        """Check both copies of the state, although one is enough to read the file.

        Raises:
            KeyFileError: saying how to repair it.
        """
        if not self._has_two:
            raise KeyFileError(
                f"{self.name}: one of the two copies of its state is damaged; the other one is "
                f"right, and so are its keys. To write both anew: canonry keys merge {self.name} "
                f"-o {self.name}"
            )

    def damaged(self, what: str) -> KeyFileError:
        """Return an error that says what is damaged, and what to do."""
        return KeyFileError(
            f"{self.name}: the file of keys is damaged ({what}); nothing was changed. Restore a "
            "copy, or make it anew from its URLs: canonry dedup URLS --seen FILE -o /dev/null"
        )

    def among(self, wanted: Keys) -> npt.NDArray[np.bool_]:
        """Return for each of some keys whether the file has it.

        Only pages that may contain one of them are read, unless all keys are held in memory.

        Raises:
            KeyFileError: what was read is damaged.
        """
        order = np.argsort(highs(wanted), kind="stable")
        ordered = wanted[order]
        present = np.zeros(len(wanted), np.bool_)
        for part in self.state.parts if self._held is None else ():
            self._look_up(part, ordered, present)
        if self._held is not None:
            present = among(ordered, *self._held)
        answer = np.empty(len(wanted), np.bool_)
        answer[order] = present
        return answer

    def _look_up(self, part: KeyPart, ordered: Keys, present: npt.NDArray[np.bool_]) -> None:
        """Mark which of some sorted keys are in a part."""
        fences, _sums = self._index(part)
        high = highs(ordered)
        low_page = np.maximum(np.searchsorted(fences, high, "left") - 1, 0)
        high_page = np.maximum(np.searchsorted(fences, high, "right") - 1, 0)
        if self._may_have is not None:
            possible = self._may_have(ordered, low_page, high_page)
            low_page, high_page = low_page[possible], high_page[possible]
        wanted = np.zeros(part.pages + 1, np.int64)  # +1 where wanted pages begin, -1 after them
        np.add.at(wanted, low_page, 1)
        np.add.at(wanted, high_page + 1, -1)
        pages = np.flatnonzero(np.cumsum(wanted[:-1]))
        for spans in _spans(pages):
            known = joined(self._keys(part, spans))
            known_highs = highs(known)
            start = int(np.searchsorted(high, known_highs[0]))
            end = int(np.searchsorted(high, known_highs[-1], "right"))
            present[start:end] |= among(ordered[start:end], known, known_highs)

    def _index(self, part: KeyPart) -> tuple[Halves, npt.NDArray[np.uint32]]:
        """Return the first half of each page's first key, and each page's checksum."""
        if part.at not in self._indexes:
            data = self._read(part.index_at, part.pages * INDEX_ROW)
            if hashlib.blake2b(data, digest_size=_SUM).hexdigest() != part.index:
                raise self.damaged("an index")
            fences = np.frombuffer(data, ">u8", part.pages).astype(np.uint64)
            sums = np.frombuffer(data, "<u4", part.pages, 8 * part.pages).astype(np.uint32)
            self._indexes[part.at] = fences, sums
        return self._indexes[part.at]

    def _keys(self, part: KeyPart, spans: Sequence[tuple[int, int]]) -> list[Keys]:
        """Return the keys of some pages, given the first and the last one of each span."""
        size = part.keys * KEY_BYTES
        places = [(first * PAGE, min((last + 1) * PAGE, size)) for first, last in spans]
        several = self._ranges.read([(part.at + start, end - start) for start, end in places])
        sums = self._index(part)[1]
        for (first, last), (start, end), data in zip(spans, places, several, strict=True):
            if sums_of(data) != sums[first : last + 1].tolist():
                raise self.damaged(f"keys between {part.at + start:,} and {part.at + end:,}")
        return list(map(as_keys, several))

    def _read(self, at: int, size: int) -> bytes:
        """Return the bytes at an offset; fewer at the end of the file."""
        [data] = self._ranges.read([(at, size)])
        return data

    def hold(self) -> None:
        """Read all keys into memory, where they are looked up faster."""
        chunks = list(self.chunks())
        keys = joined(chunks) if chunks else NO_KEYS
        self._held = keys, highs(keys)

    def part_chunks(self, part: KeyPart) -> Iterator[Keys]:
        """Yield the keys of a part, in order."""
        last = b""
        for page in range(0, part.pages, _MOST_PAGES):
            [keys] = self._keys(part, [(page, min(page + _MOST_PAGES, part.pages) - 1)])
            if keys[0].tobytes() <= last or not is_sorted(keys):
                raise self.damaged("its keys are not sorted")
            last = keys[-1].tobytes()
            yield keys

    def chunks(self) -> Iterator[Keys]:
        """Yield all keys, sorted, in parts; each page is checked.

        Raises:
            KeyFileError: if it is damaged.
        """
        yield from merged([self.part_chunks(part) for part in self.state.parts] or [iter(())])


def _spans(pages: npt.NDArray[np.int64]) -> Iterator[list[tuple[int, int]]]:
    """Yield the first and last pages of what is read at once, for pages in ascending order."""
    cuts = np.flatnonzero(np.diff(pages) > _GAP)
    firsts = pages[np.append(0, cuts + 1)].tolist() if len(pages) else []
    lasts = pages[np.append(cuts, -1)].tolist() if len(pages) else []
    several: list[tuple[int, int]] = []
    count = 0
    for first, last in zip(firsts, lasts, strict=True):
        for page in range(first, last + 1, _MOST_PAGES):
            several.append((page, min(page + _MOST_PAGES - 1, last)))
            count += several[-1][1] + 1 - page
            if count >= _MOST_PAGES:
                yield several
                several, count = [], 0
    if several:
        yield several


@contextmanager
def opened_keys(path: str) -> Iterator[KeyFile]:
    """Open a file of keys for reading.

    Raises:
        KeyFileError: it is no file of keys, or a damaged one.
        OSError: there is none.
    """
    with ranges_of(path) as ranges:
        yield KeyFile(ranges)

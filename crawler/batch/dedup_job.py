"""What a dedup is to do: its options, and which of them exclude each other."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from canonry.canon import Canonicalizer
from canonry.crawler.batch.preference import Preference
from canonry.crawler.batch.summary import Summary
from canonry.crawler.files import blocks, output
from canonry.crawler.files.formats import ANY, InputFormat
from canonry.crawler.files.line_streams import Cut
from canonry.crawler.files.tables import check_ending
from canonry.crawler.key_files.published_keys import is_published
from canonry.crawler.locations import is_stream, version_of
from canonry.crawler.settings import SettingsError


def _ignore(_value: object) -> None:
    """Do nothing; the default of callbacks."""


class Job(NamedTuple):
    """A dedup."""

    files: Sequence[str]  # existing ones; "-" is standard input
    canonicalizer: Canonicalizer
    out: str | None = None  # for the lines that are kept; None: standard output
    map: str | None = None  # for the fate of every line
    report: str | None = None  # for a page about the job
    store: str | None = None  # a SQLAlchemy URL
    seen: str | None = None  # keys that are left out: a file, which gets the others, or published
    keep_rows: bool = False  # write whole rows, in the format in which they were read
    prefer: Preference | None = None  # which line of a resource stays; None: the first one
    input_format: InputFormat = ANY
    quiet: bool = False  # keep standard output free of lines
    workers: int = 1  # threads
    memory: int = 1 << 30  # bytes
    advance: Callable[[int], None] = _ignore  # called with the bytes read since the last call
    notify: Callable[[str], None] = _ignore  # called with sentences for people

    @property
    def is_discarding(self) -> bool:
        """Return True if no line is wanted: only counts, a map, or a file of keys."""
        return self.out == os.devnull

    @property
    def reads_streams(self) -> bool:
        """Return True if a file can be read only once, and has no size."""
        return any(map(is_stream, self.files))

    def blocks(self, summary: Summary) -> Iterator[blocks.Block]:
        """Yield the blocks of all files; add each source that breaks off to a summary, once."""
        has_columns = self.prefer is not None and self.prefer.has_columns
        reads = self.input_format._replace(keep_rows=self.keep_rows or has_columns)
        for found in blocks.read(self.files, self.advance, reads):
            if not isinstance(found, Cut):
                yield found
            elif (text := str(found)) not in summary.cut:
                summary.cut.append(text)

    def check(self, also_read: Sequence[str | None] = ()) -> None:
        """Refuse options that exclude each other, and outputs that are inputs or each other.

        Args:
            also_read: other files that no output may replace.

        Raises:
            SettingsError: naming what to leave out.
        """
        self.input_format.check()
        is_kept = self.seen is None or is_published(self.seen)
        outputs = {"-o": self.out, "--map": self.map, "--report": self.report}
        outputs["--seen"] = None if is_kept else self.seen
        for option, name in outputs.items():
            if name == "-":
                raise SettingsError(f"{option} -: name a file; standard output has the lines")
            if option in {"-o", "--map"}:
                check_ending(option, name)
        output.check_distinct(outputs.items(), [*self.files, *also_read])
        for name, reason in _NOT_WITH_STORE.items() if self.store is not None else ():
            if getattr(self, name):
                raise SettingsError(f"--{name.replace('_', '-')} and --store: {reason}")

    def bytes_to_read(self) -> int | None:
        """Return how many bytes a job reads, or None if that cannot be known.

        Files are read three times if a line is preferred, and twice if keys do not fit into memory,
        which is not known in advance.
        """
        sizes = [None if is_stream(file) else version_of(file)[0] for file in self.files]
        return None if None in sizes else sum(filter(None, sizes)) * (3 if self.prefer else 1)


_NOT_WITH_STORE = {
    "report": "a report covers only the files; leave one out",
    "keep_rows": "a store keeps URLs; use --seen FILE for what was seen before",
    "prefer": "the first line that a store sees is its URL; use --seen FILE instead",
    "seen": "a store has seen keys of its own; 'canonry keys to-store' adds those of a file",
}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)i?B?", re.IGNORECASE)
_LEAST = 16 << 20


def bytes_of(text: str) -> int:
    """Return a size such as ``512MiB`` or ``2G`` in bytes.

    Raises:
        SettingsError: it is not a size, or too small to work with.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise SettingsError(f"--memory {text}: write a size such as 512MiB or 2GiB")
    size = int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))
    if size < _LEAST:
        raise SettingsError(f"--memory {text}: 16MiB is the least")
    return size

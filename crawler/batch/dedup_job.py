"""The options of a dedup, which of them exclude each other, and the plan for its engines."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, NamedTuple

from canonry.canon import Canonicalizer
from canonry.crawler.batch.preference import Preference
from canonry.crawler.batch.summary import Summary
from canonry.crawler.files import blocks, output
from canonry.crawler.files.formats import ANY, InputFormat
from canonry.crawler.files.line_streams import Cut
from canonry.crawler.files.tables import check_ending, format_of
from canonry.crawler.key_files.published_keys import is_published
from canonry.crawler.key_files.seen_file import SeenFile
from canonry.crawler.locations import is_stream, opened, version_of
from canonry.crawler.settings import SettingsError


class Job(NamedTuple):
    """The options of a dedup."""

    files: Sequence[str]  # "-" is standard input
    out: str | None = None  # for the lines that are kept; None: standard output
    contents: str = "url"  # what a line of text is
    map: str | None = None  # for the fate of every line
    report: str | None = None  # for a page about the job
    store: str | None = None  # a SQLAlchemy URL
    seen: str | None = None  # keys that are left out: a file, which gets the others, or published
    keep_rows: bool = False  # write whole rows, in the format in which they were read
    prefer: Sequence[str] = ()  # which line of a resource stays; empty: the first one
    input_format: InputFormat = ANY
    quiet: bool = False  # keep standard output free of lines
    workers: int = 1  # threads or processes
    memory: int = 1 << 30  # bytes
    engine: str = "local"
    also_read: Sequence[str | None] = ()  # other files that no output may replace

    @property
    def is_discarding(self) -> bool:
        """Return True if no line is wanted: only counts, a map, or a file of keys."""
        return self.out == os.devnull

    @property
    def reads_streams(self) -> bool:
        """Return True if a file can be read only once, and has no size."""
        return any(map(is_stream, self.files))

    def check(self) -> None:
        """Refuse options that exclude each other.

        Raises:
            SettingsError: naming what to leave out.
        """
        self.input_format.check()
        self._check_outputs()
        Preference.of(self.prefer)
        self._check_formats()
        if self.store is not None:
            for name, reason in _NOT_WITH_STORE.items():
                if getattr(self, name):
                    option = name.replace("_", "-")
                    raise SettingsError(f"--{option} and --store: {reason}")
        if self.engine != "local":
            for name in ("report", "store", "map", "seen", "keep_rows"):
                if getattr(self, name):
                    option = name.replace("_", "-")
                    raise SettingsError(
                        f"--{option}: not with --engine {self.engine}; leave one out"
                    )
            if self.reads_streams:
                raise SettingsError(f"--engine {self.engine} needs files, which can be read twice")

    def _check_formats(self) -> None:
        """Refuse options that would be ignored in the format of the output."""
        if self.keep_rows and self.contents != "url":
            raise SettingsError("--keep-rows writes rows as they are; leave out --write")
        wanted = format_of(self.out)
        if self.contents != "url" and wanted != "text":
            raise SettingsError(
                f"--write {self.contents} is for text; {wanted} has the URL, its canonical form "
                "and its key in columns, so leave it out"
            )

    def _check_outputs(self) -> None:
        """Refuse outputs that are inputs or each other, and ``-`` as the name of an output."""
        outputs = (
            ("-o", None if self._writes_folder else self.out),
            ("--map", self.map),
            ("--report", self.report),
            ("--seen", None if self.seen is None or is_published(self.seen) else self.seen),
        )
        for option, name in outputs:
            if name == "-":
                raise SettingsError(f"{option} -: name a file; standard output has the lines")
            if option in {"-o", "--map"}:
                check_ending(option, name)
        output.check_distinct(outputs, [*self.files, *self.also_read])

    @property
    def _writes_folder(self) -> bool:
        """Return True if the output is a folder, as Spark writes Parquet."""
        return self.engine != "local" and format_of(self.out) == "parquet"


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
    power = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}[found[2].upper()]
    size = int(float(found[1]) * 1024**power)
    if size < _LEAST:
        raise SettingsError(f"--memory {text}: 16MiB is the least")
    return size


def bytes_to_read(job: Job) -> int | None:
    """Return how many bytes a job reads, or None if that cannot be known.

    Files are read three times if a line is preferred, and twice if keys do not fit into memory,
    which is not known in advance. Spark reads the files on other machines.
    """
    if job.reads_streams or job.engine != "local":
        return None
    sizes = [version_of(file)[0] for file in job.files]
    if None in sizes:
        return None
    size = sum(filter(None, sizes))
    is_one_pass = job.store is not None or not job.prefer
    return size if is_one_pass else (3 if job.prefer else 2) * size


def _ignore(_value: object) -> None:
    """Do nothing; the default of callbacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What every engine needs to know; most of the last fields are for the local engine."""

    files: Sequence[str]  # existing ones; "-" is standard input
    canonicalizer: Canonicalizer
    input_format: InputFormat = ANY
    workers: int = 1  # threads or processes
    memory: int = 1 << 30  # bytes
    advance: Callable[[int], None] = _ignore  # called with the bytes read since the last call
    notify: Callable[[str], None] = _ignore  # called with sentences for people
    report: bool = False  # count hosts, and find the resources with the most lines
    mapped: bool = False  # name for each repeated line what it repeats
    seen: SeenFile | None = None  # leave out what is in it
    prefer: Preference | None = None  # which line of a resource stays; None: the first one

    def blocks(
        self,
        summary: Summary,
        open_: Callable[[str], AbstractContextManager[IO[bytes]]] = opened,
    ) -> Iterator[blocks.Block]:
        """Yield the blocks of all files; add each source that breaks off to a summary, once."""
        for found in blocks.read(self.files, self.advance, self.input_format, open_):
            if not isinstance(found, Cut):
                yield found
            elif (text := str(found)) not in summary.cut:
                summary.cut.append(text)

"""A whole dedup job: files in, whole files out, and a store's claims only once these are safe."""

import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

from canon import Canonicalizer
from crawler import app
from crawler.batch import engine, lines, output, report
from crawler.batch.dedup import Seen, SeenInStore, Summary, dedup, map_line
from crawler.door import why
from crawler.settings import SettingsError


class Job(NamedTuple):
    """What a dedup is asked to do."""

    files: Sequence[str]  # "-" is standard input
    out: str | None  # where the lines go; None is standard output
    map_file: str | None  # where every line's fate goes, if anywhere
    store: str | None  # a SQLAlchemy URL
    quiet: bool  # keep standard output free of lines
    workers: int  # processes
    memory: int  # bytes
    report: str | None = None  # where a page about it goes, if anywhere


def size_of(files: Sequence[str]) -> int | None:
    """Return the bytes of all files, or None when one of them is a stream.

    Raises:
        SettingsError: naming a file that is not there.
    """
    for file in files:
        if file != "-" and not Path(file).is_file():
            raise SettingsError(f"{file}: there is no such file")
    return None if "-" in files else sum(Path(file).stat().st_size for file in files)


_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)i?B?", re.IGNORECASE)
_LEAST = 16 << 20


def bytes_of(text: str) -> int:
    """Return a size such as ``512MiB`` or ``2G`` in bytes.

    Raises:
        SettingsError: when it is none, or too little to work with.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise SettingsError(f"--memory {text}: write a size such as 512MiB or 2GiB")
    power = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}[found[2].upper()]
    size = int(float(found[1]) * 1024**power)
    if size < _LEAST:
        raise SettingsError(f"--memory {text}: 16MiB is the least")
    return size


def run(
    job: Job,
    canonicalizer: Canonicalizer,
    advance: Callable[[int], None],
    say: Callable[[str], None],
) -> Summary:
    """Do a job, and return what was done.

    With a store all claims are one transaction, which ends after the files have their names: a job
    that is killed leaves no claim without its line, and the same command does it again.

    Args:
        job: what to do.
        canonicalizer: makes the identities.
        advance: is told how many bytes were read.
        say: takes sentences for people.

    Raises:
        OSError, StoreError: when a file or the store fails; nothing is left half-written.
    """
    summary = Summary()
    with ExitStack() as stack:
        seen: Seen | None = None
        if job.store is not None:
            store = app.open_store(job.store, canonicalizer.policy, say)
            stack.callback(store.close)
            connection = stack.enter_context(store.transaction())
            seen = SeenInStore(store, connection, partial(why, canonicalizer))
        kept: IO[bytes] | None = None if job.quiet else sys.stdout.buffer
        if job.out is not None:
            kept = stack.enter_context(output.whole(job.out))
        mapped = stack.enter_context(output.whole(job.map_file)) if job.map_file else None
        if seen is None:
            work = engine.Work(
                canonicalizer.policy,
                canonicalizer.rules,
                job.workers,
                job.memory,
                report=job.report is not None,
            )
            once = engine.Dedup(job.files, work, advance, name_all=mapped is not None)
            about = stack.enter_context(output.whole(job.report)) if job.report else None
            start = time.monotonic()
            summary = engine.run(once, kept, mapped)
            if about is not None:
                title = ", ".join("standard input" if file == "-" else file for file in job.files)
                about.write(report.page(once, title, time.monotonic() - start).encode())
            return summary
        for answer in dedup(lines.read(job.files, advance), canonicalizer, seen, summary):
            if kept is not None and answer.same_as is None and answer.refused is None:
                output.write_all(kept, answer.line.text + b"\n")
            if mapped is not None:
                output.write_all(mapped, map_line(answer))
        if kept is not None:
            kept.flush()
    return summary

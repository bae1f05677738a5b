"""A whole dedup job: files in, whole files out, and a store's claims only once these are safe."""

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

from canon import Canonicalizer
from crawler import app
from crawler.batch import lines, output
from crawler.batch.dedup import Seen, SeenInMemory, SeenInStore, Summary, dedup, map_line
from crawler.door import why
from crawler.settings import SettingsError


class Job(NamedTuple):
    """What a dedup is asked to do."""

    files: Sequence[str]  # "-" is standard input
    out: str | None  # where the lines go; None is standard output
    map_file: str | None  # where every line's fate goes, if anywhere
    store: str | None  # a SQLAlchemy URL
    quiet: bool  # keep standard output free of lines


def size_of(files: Sequence[str]) -> int | None:
    """Return the bytes of all files, or None when one of them is a stream.

    Raises:
        SettingsError: naming a file that is not there.
    """
    for file in files:
        if file != "-" and not Path(file).is_file():
            raise SettingsError(f"{file}: there is no such file")
    return None if "-" in files else sum(Path(file).stat().st_size for file in files)


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
        seen: Seen = SeenInMemory()
        if job.store is not None:
            store = app.open_store(job.store, canonicalizer.policy, say)
            stack.callback(store.close)
            connection = stack.enter_context(store.transaction())
            seen = SeenInStore(store, connection, partial(why, canonicalizer))
        kept: IO[bytes] | None = None if job.quiet else sys.stdout.buffer
        if job.out is not None:
            kept = stack.enter_context(output.whole(job.out))
        mapped = stack.enter_context(output.whole(job.map_file)) if job.map_file else None
        for answer in dedup(lines.read(job.files, advance), canonicalizer, seen, summary):
            if kept is not None and answer.same_as is None and answer.refused is None:
                kept.write(answer.line.text + b"\n")
            if mapped is not None:
                mapped.write(map_line(answer))
        if kept is not None:
            kept.flush()
    return summary

"""A whole dedup job: read files, write outputs atomically, and only then commit what was seen."""

import hashlib
import os
import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime

from canonry.crawler.batch import html_report
from canonry.crawler.batch.checkpoint import Workplace, fingerprint, interruptible, workplace
from canonry.crawler.batch.deciding import Decider
from canonry.crawler.batch.dedup_job import Job
from canonry.crawler.batch.part_writer import KeptTexts, PartWriter
from canonry.crawler.batch.results import (
    DistinctLines,
    DistinctRows,
    DistinctTable,
    DistinctURL,
    MappedLine,
    Results,
)
from canonry.crawler.batch.summary import Summary
from canonry.crawler.files import output, tables
from canonry.crawler.files.output import is_special
from canonry.crawler.key_files.published_keys import is_published
from canonry.crawler.key_files.seen_file import SeenFile, extending, published
from canonry.crawler.locations import is_remote
from canonry.crawler.plurals import counted


class StreamEndedError(KeyboardInterrupt):
    """Ctrl-C has ended a stream; the keys of all printed lines are in the workplace."""


def name_of(job: Job) -> str:
    """Return what tells a job from others with the same file of keys; "" if it cannot be repeated.

    Its inputs tell it, by their names, sizes and times, and so do its outputs.
    """
    outputs = [one for one in (job.out, job.map, job.report) if one not in {None, os.devnull}]
    if job.reads_streams or not outputs or (job.out is None and not job.quiet):
        return ""
    if any(not is_remote(name) and is_special(name) for name in outputs):
        return ""
    places = [name if is_remote(name) else os.path.realpath(name) for name in outputs]
    text = f"{fingerprint(job, 0, '')} {places!r}"
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def run(job: Job) -> Summary:
    """Do a job, and return its summary.

    With a store, all claims are one transaction, which is committed once the outputs are in place.
    So a killed job leaves no claim without its line, and can simply be run again.

    Raises:
        OSError, StoreError: a file or the store failed, or an output with lines would be replaced
            by one without any; nothing is left half-written.
        NoURLError: no line is a URL; the outputs stay as they were.
        KeyboardInterrupt: Ctrl-C or SIGTERM has ended it; with a message if something was saved.
    """
    with interruptible():
        if job.store is None:
            return _local(job)
        from canonry.crawler.batch import against_store  # noqa: PLC0415 - loads SQLAlchemy

        with ExitStack() as stack:
            make = job.canonicalizer
            claims = stack.enter_context(against_store.claims_in(job.store, make, job.notify))
            summary = against_store.dedup(job, claims, _results(job, stack))
            summary.check_read()
            return summary


def _local(job: Job) -> Summary:
    """Do a job without a store.

    The file of seen keys is extended once the outputs are in place, so that no key is in it without
    its line.
    """
    with workplace(_workplace_beside(job)) as place:
        if job.seen is None:
            return _written(job, place)
        if is_published(job.seen):
            with published(job.seen, job.canonicalizer.policy) as known:
                return _written(job, place, known)
        with extending(job.seen, job.canonicalizer.policy) as seen:
            name = name_of(job)
            if seen.knows(name):
                seen.rewind(name)
                job.notify(
                    f"canonry: {job.seen} has the keys of this job already, so it is repeated: its "
                    "outputs are written again, and no key is added"
                )
                return _written(job, place, seen)
            ended: KeyboardInterrupt | None = None
            try:
                summary = _written(job, place, seen)
            except StreamEndedError:
                ended = KeyboardInterrupt(
                    f"{job.seen} has the keys of the printed lines; run the same command for others"
                )
            before = seen.state.keys
            after = seen.extend(place.fresh, name).keys
            job.notify(f"{job.seen}: {counted(after - before, 'key')} added to {before:,}")
            if ended is not None:
                raise ended
            return summary


def _written(job: Job, place: Workplace, seen: SeenFile | None = None) -> Summary:
    """Do a job, and put its outputs in place."""
    with ExitStack() as stack:
        results = _results(job, stack)
        report = stack.enter_context(output.atomic(job.report)) if job.report else None
        at, start = datetime.now(UTC), time.monotonic()
        try:
            summary = _dedup(job, place, seen, results)
            summary.check_read()
        except StreamEndedError:
            raise
        except KeyboardInterrupt:
            if not place.has_checkpoint:
                raise
            raise KeyboardInterrupt("a checkpoint is saved; the same command goes on") from None
        if report is not None:
            seconds = time.monotonic() - start
            page = html_report.page(summary, job.files, job.canonicalizer.policy, at, seconds)
            report.write(page.encode())
        return summary


def _workplace_beside(job: Job) -> str | None:
    """Return the file next to which the job keeps its own files; None for a temporary folder."""
    if job.is_discarding and not job.reads_streams:
        return None if job.seen is None or is_published(job.seen) else job.seen
    if job.out is None or job.reads_streams:
        return None
    return None if output.is_special(job.out) or is_remote(job.out) else job.out


def _results(job: Job, stack: ExitStack) -> Results:
    """Open the outputs."""
    results = Results()
    if not job.is_discarding and (job.out is not None or not job.quiet):
        if job.out is None:
            file = results.live = sys.stdout.buffer
        else:
            file = stack.enter_context(output.atomic(job.out, lambda: results.is_empty))
        written_as = tables.format_of(job.out)
        if job.keep_rows:
            results.distinct = DistinctRows(file, job.out)
        elif written_as == "text":
            results.distinct = DistinctLines(file)
        else:
            table = tables.table(file, written_as, tables.column_types(DistinctURL))
            results.distinct = DistinctTable(table, job.canonicalizer)
    if job.map is not None:
        file = stack.enter_context(output.atomic(job.map))
        columns = tables.column_types(MappedLine)
        results.mapped = tables.table(file, tables.format_of(job.map), columns)
    return results


def _dedup(job: Job, place: Workplace, seen: SeenFile | None, results: Results) -> Summary:
    """Do a job into open outputs.

    Raises:
        OSError: a file cannot be read or written, or has changed between two readings.
    """
    decider = Decider(job, place, seen)
    with KeptTexts(place.folder / "texts") as texts:
        writer = PartWriter(job, results, texts)
        with place.saving_when_interrupted(job.notify):
            try:
                for part in decider.read():
                    writer.write(part)
            except KeyboardInterrupt:
                if results.live is None or not decider.write_fresh():
                    raise
                raise StreamEndedError from None
            decider.settle()
        if job.prefer is not None:  # of the lines that stay, some come after others like them
            for part in decider.again():
                texts.put_needed(part)
        for part in decider.again():
            writer.write(part)
        results.close()
        return decider.checkpoint.summary.with_fates(writer.counted)

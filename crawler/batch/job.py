"""A whole dedup job: read files, write outputs atomically, and only then commit what was seen."""

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import IO

from canonry.canon import Canonicalizer
from canonry.crawler.batch import html_report, results
from canonry.crawler.batch.checkpoint import Checkpoint, Workplace, fingerprint, workplace
from canonry.crawler.batch.dedup_job import Job, Plan
from canonry.crawler.batch.html_report import About
from canonry.crawler.batch.interrupts import interrupted_at_once
from canonry.crawler.batch.passes import first_pass, one_pass
from canonry.crawler.batch.passes.first_pass import FirstPass, KeyedBlocks, Start, decided
from canonry.crawler.batch.passes.one_pass import OnePass, StreamEndedError
from canonry.crawler.batch.passes.part_writer import KeptTexts, Part, PartWriter
from canonry.crawler.batch.preference import Preference
from canonry.crawler.batch.results import Results
from canonry.crawler.batch.spark import cluster
from canonry.crawler.batch.spark.sessions import sail_session, spark_session
from canonry.crawler.batch.summary import Deduplicated, Summary
from canonry.crawler.files import output, tables
from canonry.crawler.files.blocks import BlockSpool
from canonry.crawler.files.output import is_special
from canonry.crawler.key_files.published_keys import is_published
from canonry.crawler.key_files.seen_file import SeenFile, extending, published
from canonry.crawler.locations import is_remote, is_stream
from canonry.crawler.plurals import counted
from canonry.crawler.settings import SettingsError


def name_of(job: Job, plan: Plan) -> str:
    """Return what tells a job from others with the same file of keys; "" if it cannot be repeated.

    Its inputs tell it, by their names, sizes and times, and so do its outputs and what is in them.

    Args:
        job: with the names of its outputs.
        plan: of the job.
    """
    outputs = [one for one in (job.out, job.map, job.report) if one not in {None, os.devnull}]
    if job.reads_streams or not outputs or (job.out is None and not job.quiet):
        return ""
    if any(not is_remote(name) and is_special(name) for name in outputs):
        return ""
    places = [name if is_remote(name) else os.path.realpath(name) for name in outputs]
    written = (places, job.contents)
    text = f"{fingerprint(plan, 0, '')} {written!r}"
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def run(
    job: Job,
    canonicalizer: Canonicalizer,
    advance: Callable[[int], None],
    notify: Callable[[str], None],
) -> Summary:
    """Do a job, and return its summary.

    With a store, all claims are one transaction, which is committed once the outputs are in place.
    So a killed job leaves no claim without its line, and can simply be run again.

    Args:
        job: what to do.
        canonicalizer: makes the identities.
        advance: called with the number of bytes that were read.
        notify: called with sentences for people.

    Raises:
        OSError, StoreError: a file or the store failed, or an output with lines would be replaced
            by one without any; nothing is left half-written.
        NoURLError: no line is a URL; the outputs stay as they were.
        KeyboardInterrupt: Ctrl-C or SIGTERM has ended it; with a message if something was saved.
    """
    prefer = Preference.of(job.prefer)
    has_columns = prefer is not None and prefer.has_columns
    plan = Plan(
        files=job.files,
        canonicalizer=canonicalizer,
        input_format=job.input_format._replace(keep_rows=job.keep_rows or has_columns),
        workers=job.workers,
        memory=job.memory,
        advance=advance,
        notify=notify,
        report=job.report is not None,
        mapped=job.map is not None,
        prefer=prefer,
    )
    with interrupted_at_once():
        return _done(job, plan)


def _done(job: Job, plan: Plan) -> Summary:
    """Do a job with its engine."""
    if job.engine != "local":
        return _on_cluster(job, plan)
    if job.store is None:
        return _local(job, plan)
    from canonry.crawler.batch import against_store  # noqa: PLC0415 - loads SQLAlchemy

    with ExitStack() as stack:
        make = plan.canonicalizer
        claims = stack.enter_context(against_store.claims_in(job.store, make, plan.notify))
        summary = against_store.dedup(plan, claims, _results(job, make, stack))
        summary.check_read()
        return summary


def _local(job: Job, plan: Plan) -> Summary:
    """Do a job on this machine.

    The file of seen keys is extended once the outputs are in place, so that no key is in it without
    its line.
    """
    with workplace(_workplace_beside(job)) as place:
        if job.seen is None:
            return _written(job, plan, place)
        if is_published(job.seen):
            with published(job.seen, plan.canonicalizer.policy) as known:
                return _written(job, replace(plan, seen=known), place)
        with extending(job.seen, plan.canonicalizer.policy) as seen:
            plan = replace(plan, seen=seen)
            name = name_of(job, plan)
            if seen.knows(name):
                seen.rewind(name)
                plan.notify(
                    f"canonry: {job.seen} has the keys of this job already, so it is repeated: its "
                    "outputs are written again, and no key is added"
                )
                return _written(job, plan, place)
            try:
                summary = _written(job, plan, place)
            except StreamEndedError:
                _extend(job, plan, seen, place, name)
                raise KeyboardInterrupt(
                    f"{job.seen} has the keys of the printed lines; run the same command for others"
                ) from None
            _extend(job, plan, seen, place, name)
            return summary


def _extend(job: Job, plan: Plan, seen: SeenFile, place: Workplace, name: str) -> None:
    """Add the new keys of a job to the file of keys, and notify people."""
    before = seen.state.keys
    after = seen.extend(place.fresh, name).keys
    plan.notify(f"{job.seen}: {counted(after - before, 'key')} added to {before:,}")


def _written(job: Job, plan: Plan, place: Workplace) -> Summary:
    """Do a job, and put its outputs in place."""
    with ExitStack() as stack:
        found = _results(job, plan.canonicalizer, stack)
        return _deduplicated(job, plan, place, found, stack)


def _deduplicated(
    job: Job, plan: Plan, place: Workplace, found: results.Results, stack: ExitStack
) -> Summary:
    """Do a job into open outputs."""
    report = stack.enter_context(output.atomic(job.report)) if job.report else None
    at, start = datetime.now(UTC), time.monotonic()
    try:
        done = dedup(plan, place, found)
        done.summary.check_read()
    except StreamEndedError:
        raise
    except KeyboardInterrupt:
        if not place.has_checkpoint:
            raise
        raise KeyboardInterrupt("a checkpoint is saved; the same command goes on") from None
    if report is not None:
        about = About(job.files, plan.canonicalizer.policy, at, time.monotonic() - start)
        report.write(html_report.page(done, about).encode())
    return done.summary


def _on_cluster(job: Job, plan: Plan) -> Summary:
    """Do a job on a cluster, or by Spark on this machine."""
    session = sail_session if job.engine == "sail" else spark_session
    output_format = tables.format_of(job.out)
    if job.out is not None and output_format == "parquet":
        if cluster.is_foreign(job.out):
            raise SettingsError(f"{job.out}: it exists, and Spark writes a folder; remove it")
        return cluster.dedup(plan, session(job.workers), folder=job.out)
    with ExitStack() as stack:
        found = _results(job, plan.canonicalizer, stack)
        summary = cluster.dedup(plan, session(job.workers), found)
        summary.check_read()
        return summary


def _workplace_beside(job: Job) -> str | None:
    """Return the file next to which the job keeps its own files; None for a temporary folder."""
    if job.is_discarding and not job.reads_streams:
        return None if job.seen is None or is_published(job.seen) else job.seen
    if job.out is None or job.reads_streams:
        return None
    return None if output.is_special(job.out) or is_remote(job.out) else job.out


def _results(job: Job, canonicalizer: Canonicalizer, stack: ExitStack) -> results.Results:
    """Open the outputs."""

    def table(path: str | None, columns: Mapping[str, type]) -> tables.Table | None:
        if path is None:
            return None
        file = stack.enter_context(output.atomic(path))
        return tables.table(file, tables.format_of(path), columns)

    def is_emptied() -> bool:
        return distinct is not None and distinct.is_empty

    distinct: results.DistinctLines | results.DistinctRows | None = None
    if not job.is_discarding and (job.out is not None or not job.quiet):
        live = job.out is None
        if job.out is None:
            file: IO[bytes] = sys.stdout.buffer
        else:
            file = stack.enter_context(output.atomic(job.out, is_emptied))
        output_format = tables.format_of(job.out)
        if job.keep_rows:
            distinct = results.DistinctRows(file, job.out, live=live)
        else:
            distinct = results.DistinctLines(
                file, output_format, job.contents, canonicalizer, live=live
            )
    return results.Results(distinct, table(job.map, results.MAP_COLUMNS))


def dedup(plan: Plan, workplace: Workplace, results: Results) -> Deduplicated:
    """Run a plan.

    Args:
        plan: with ``mapped`` if the results have that.
        workplace: for the job's own files.
        results: where to write.

    Raises:
        OSError: a file cannot be read or written, or has changed between the passes.
    """
    start = first_pass.begin(plan, workplace)
    with KeptTexts(workplace.folder / "texts") as texts:
        writer = PartWriter(plan, texts)
        checkpoint = _dedup(plan, workplace, start, writer, results)
        results.close()
        summary = checkpoint.summary.with_fates(writer.counted)
        return Deduplicated(summary, checkpoint.hosts, writer.largest())


def _dedup(
    plan: Plan, workplace: Workplace, start: Start, writer: PartWriter, results: Results
) -> Checkpoint:
    """Run a plan in one pass if its keys fit into memory, else in two; return its counts."""
    rest: KeyedBlocks | None = None
    spool: BlockSpool | None = None
    if one_pass.fits(plan, start):
        with workplace.saving_when_interrupted(plan.notify):
            left = OnePass(plan, workplace, start, writer).run(results)
        if left is None:
            return start.checkpoint
        start, rest = left
        if any(map(is_stream, plan.files)):
            spool = BlockSpool(workplace.folder / "blocks")
            rest = spool.copied(rest)
    written = 0 if rest is None else start.checkpoint.lines
    with workplace.saving_when_interrupted(plan.notify):
        fates = FirstPass(plan, workplace, start, rest).run()

    def again() -> Iterator[Part]:
        if spool is not None:
            return decided(fates, spool.blocks(), written)
        blocks = plan.blocks(fates.checkpoint.summary, workplace.open)
        return decided(fates, first_pass.after(blocks, written), written)

    if plan.prefer is not None:  # of the lines that stay, some come after others like them
        for part in again():
            writer.texts.put_needed(part)
    for part in again():
        writer.write(part, results)
    return fates.checkpoint

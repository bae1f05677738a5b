"""A whole dedup job: files in, whole files out, and a store's claims only once these are safe."""

import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from glob import glob
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple

from canonry.canon import Canonicalizer
from canonry.canon.pipeline import merging_rules
from canonry.crawler import opening
from canonry.crawler.batch import html_report, local, results, spark
from canonry.crawler.batch.against_store import SeenInStore, dedup
from canonry.crawler.batch.checkpoint import workplace
from canonry.crawler.batch.summary import Summary
from canonry.crawler.files import blocks, output, tables
from canonry.crawler.files.formats import ANY, InputFormat
from canonry.crawler.learn.in_force import StoredRules
from canonry.crawler.learn.rule_store import active_in
from canonry.crawler.settings import SettingsError


class Job(NamedTuple):
    """What a dedup is asked to do."""

    files: Sequence[str]  # "-" is standard input
    out: str | None = None  # where the lines go; None is standard output
    form: str | None = None  # of the lines; None: as the name ends
    written: str = "url"  # what a line of text is
    map_file: str | None = None  # where every line's fate goes, if anywhere
    groups: str | None = None  # where the spellings of each resource go, if anywhere
    report: str | None = None  # where a page about it goes, if anywhere
    store: str | None = None  # a SQLAlchemy URL
    read_as: InputFormat = ANY
    quiet: bool = False  # keep standard output free of lines
    workers: int = 1  # processes
    memory: int = 1 << 30  # bytes
    resume: bool = False  # go on from what a run that was killed has left
    engine: str = "local"

    def check(self) -> None:
        """Refuse what does not go together.

        Raises:
            SettingsError: naming what to leave out.
        """
        self.read_as.check()
        if self.store is not None:
            for name in ("report", "groups", "resume"):
                if getattr(self, name):
                    raise SettingsError(f"--{name} and --store: {_NOT_IN_STORE[name]}")
        if self.engine == "spark":
            for name in ("report", "groups", "resume", "store", "map_file"):
                if getattr(self, name):
                    option = name.partition("_")[0]
                    raise SettingsError(f"--{option}: not with --engine spark; leave one out")
            if "-" in self.files:
                raise SettingsError("--engine spark reads files that all its machines can read")
        if self.resume and (self.out is None or "-" in self.files):
            raise SettingsError("--resume needs files to read and -o: these are still there")


_NOT_IN_STORE = {
    "report": "a report is of files alone; leave one out",
    "groups": "what a store has seen is in its exports: canonry export aliases",
    "resume": "claims and output are one piece, and the same command starts again",
}


def expand(files: Sequence[str]) -> list[str]:
    """Return the files that are meant: those in folders, at any depth, and what patterns match.

    Hidden files are left out. Each folder and pattern is in the order of names.

    Raises:
        SettingsError: naming what is not there.
    """
    found: list[str] = []
    for name in files:
        path = Path(name)
        if name == "-" or path.is_file():
            found.append(name)
            continue
        if path.is_dir():
            inside = [file for file in sorted(path.rglob("*")) if file.is_file()]
            more = [str(f) for f in inside if not _is_hidden(f.relative_to(path))]
        else:
            matching = glob(name, recursive=True)  # noqa: PTH207 - also of absolute patterns
            more = sorted(file for file in matching if Path(file).is_file())
        if not more:
            what = "no file in it" if path.is_dir() else "there is no such file"
            raise SettingsError(f"{name}: {what}")
        found += more
    return found


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def bytes_to_read(job: Job) -> int | None:
    """Return how many bytes a job reads, or None if that cannot be known.

    Without a store, every file is read twice. Spark reads the files elsewhere.
    """
    if "-" in job.files or job.engine == "spark":
        return None
    size = sum(Path(file).stat().st_size for file in job.files)
    return size if job.store is not None else 2 * size


_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)i?B?", re.IGNORECASE)
_LEAST = 16 << 20
_SOME = 10_000  # answers in memory


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
    notify: Callable[[str], None],
) -> Summary:
    """Do a job, and return what was done.

    With a store all claims are one transaction, which ends after the files have their names: a job
    that is killed leaves no claim without its line, and the same command does it again.

    Args:
        job: what to do.
        canonicalizer: makes the identities.
        advance: is told how many bytes were read.
        notify: receives sentences for people.

    Raises:
        OSError, StoreError: when a file or the store fails; nothing is left half-written.
    """
    if job.engine == "spark":
        return _on_spark(job, canonicalizer)
    with ExitStack() as stack:
        place = stack.enter_context(workplace(_beside(job), resume=job.resume))
        seen = None
        if job.store is not None:
            seen, taught = _in_store(job.store, canonicalizer, stack, notify)
        results = _results(job, canonicalizer, stack)
        if seen is not None:
            return _against(seen, job, canonicalizer, taught, advance, results)
        work = local.Work(
            canonicalizer.policy,
            canonicalizer.rules,
            job.workers,
            job.memory,
            report=job.report is not None,
            form=job.read_as,
            name_all=results.mapped is not None,
            groups=results.groups is not None,
        )
        about = stack.enter_context(output.atomic(job.report)) if job.report else None
        once = local.Dedup(job.files, work, place, advance, notify)
        start = time.monotonic()
        try:
            summary = once.run(results)
        except KeyboardInterrupt:
            if place.has_state:
                notify("with --resume the same command goes on from here")
            raise
        if about is not None:
            title = ", ".join("standard input" if file == "-" else file for file in job.files)
            about.write(html_report.page(once, title, time.monotonic() - start).encode())
        return summary


def _on_spark(job: Job, canonicalizer: Canonicalizer) -> Summary:
    """Do a job on a cluster, or by Spark on this machine."""
    files = [str(Path(file).resolve()) for file in job.files]
    form = job.form or tables.format_of(job.out)
    if job.out is not None and form == "parquet":
        if spark.is_there(job.out):
            raise SettingsError(f"{job.out}: it is there, and Spark writes a folder; remove it")
        started = spark.session(job.workers)
        return spark.dedup(files, job.read_as, canonicalizer, started, None, job.out)
    with ExitStack() as stack:
        found = _results(job, canonicalizer, stack)
        started = spark.session(job.workers)
        return spark.dedup(files, job.read_as, canonicalizer, started, found)


def _beside(job: Job) -> str | None:
    """Return beside what a job's own files are to lie; None: in the temporary folder."""
    if job.out is None or job.store is not None or "-" in job.files:
        return None
    return None if output.is_special(job.out) else job.out


def _results(job: Job, canonicalizer: Canonicalizer, stack: ExitStack) -> results.Results:
    """Open what is asked for."""

    def table(path: str | None, columns: Mapping[str, type]) -> tables.Table | None:
        if path is None:
            return None
        file = stack.enter_context(output.atomic(path))
        return tables.table(file, tables.format_of(path), columns)

    kept = None
    if job.out is not None or not job.quiet:
        file = sys.stdout.buffer if job.out is None else stack.enter_context(output.atomic(job.out))
        form = job.form or tables.format_of(job.out)
        kept = results.DistinctLines(file, form, job.written, canonicalizer)
    mapped = table(job.map_file, results.MAP_COLUMNS)
    return results.Results(kept, mapped, table(job.groups, results.GROUP_COLUMNS))


def _in_store(
    url: str, canonicalizer: Canonicalizer, stack: ExitStack, notify: Callable[[str], None]
) -> tuple[SeenInStore, Canonicalizer]:
    """Open a store for one transaction, which ends with the stack; return what its rules make."""
    store = opening.open_store(url, canonicalizer.policy, notify)
    stack.callback(store.close)
    store.rules = StoredRules(canonicalizer)
    connection = stack.enter_context(store.transaction())
    taught = Canonicalizer(canonicalizer.policy, active_in(connection, canonicalizer.policy))
    store.merging_rules = partial(merging_rules, taught)
    return SeenInStore(store, connection), taught


def _against(
    seen: SeenInStore,
    job: Job,
    canonicalizer: Canonicalizer,
    taught: Canonicalizer,
    advance: Callable[[int], None],
    found: results.Results,
) -> Summary:
    """Deduplicate against a store, and into it."""
    summary = Summary()
    given = blocks.lines_of(blocks.read(job.files, advance, job.read_as))
    answers = dedup(given, canonicalizer, seen, summary, taught)
    while some := list(islice(answers, _SOME)):
        new = [a.line for a in some if a.same_as is None and a.refused is None]
        if found.kept is not None:
            for source, lines in groupby(new, key=lambda line: line.source):
                here = list(lines)
                found.kept.write(source, [n.number for n in here], [n.text for n in here])
        found.map(some)
    found.close()
    return summary

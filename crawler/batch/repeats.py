"""Jobs with a file of keys that are repeated: their keys are there, so all lines count as seen."""

import hashlib
import os

from canonry.crawler.batch.checkpoint import fingerprint
from canonry.crawler.batch.dedup_job import Job, Plan
from canonry.crawler.batch.passes.first_pass import partitions_for
from canonry.crawler.files.output import is_special
from canonry.crawler.key_files.seen_file import SeenFile
from canonry.crawler.locations import is_remote, version_of


def outputs_of(job: Job) -> list[str]:
    """Return the files that a job writes, without the file of keys."""
    return [name for name in (job.out, job.map, job.groups, job.report) if name is not None]


def name_of(job: Job, plan: Plan, seen: str | None = None) -> str:
    """Return what tells a job from others with the same file of keys; "" if it cannot be repeated.

    Args:
        job: with the names of its outputs.
        plan: of the job.
        seen: the id of the state of the file of keys; None for its current one.
    """
    if job.reads_streams or (job.out is None and not job.seen_only):
        return ""
    if any(not is_remote(name) and is_special(name) for name in outputs_of(job)):
        return ""
    outputs = [name if is_remote(name) else os.path.realpath(name) for name in outputs_of(job)]
    written = (outputs, job.output_format, job.contents)
    text = f"{fingerprint(plan, partitions_for(plan), seen)} {written!r}"
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def is_repeated(job: Job, plan: Plan, seen: SeenFile) -> bool:
    """Return True if this job was the last to extend the file of keys, and its outputs are there.

    To repeat it would empty them, as all their lines are seen now.
    """
    outputs = outputs_of(job)
    if not (outputs or job.resume) or not all(map(_exists, outputs)):
        return False
    return bool(seen.state.job) and seen.state.job == name_of(job, plan, seen.state.before)


def _exists(name: str) -> bool:
    """Return True if there is a file, also on another machine."""
    try:
        version_of(name)
    except OSError:
        return False
    return True

"""Jobs with a file of keys that are repeated: the keys that they added count as new once more."""

import hashlib
import os

from canonry.crawler.batch.checkpoint import fingerprint
from canonry.crawler.batch.dedup_job import Job, Plan
from canonry.crawler.files.output import is_special
from canonry.crawler.locations import is_remote


def name_of(job: Job, plan: Plan) -> str:
    """Return what tells a job from others with the same file of keys; "" if it cannot be repeated.

    Its inputs tell it, by their names, sizes and times, and so do its outputs and what is in them.

    Args:
        job: with the names of its outputs.
        plan: of the job.
    """
    outputs = [name for name in (job.out, job.map, job.groups, job.report) if name is not None]
    if job.reads_streams or not outputs or (job.out is None and not (job.seen_only or job.quiet)):
        return ""
    if any(not is_remote(name) and is_special(name) for name in outputs):
        return ""
    places = [name if is_remote(name) else os.path.realpath(name) for name in outputs]
    written = (places, job.output_format, job.contents)
    text = f"{fingerprint(plan, 0, '')} {written!r}"
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()

"""Dedup by its plain definition, in memory: what the real one is compared with."""

import io
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

import canonry
from canonry.canon.pipeline import merging_rules
from canonry.canon.syntax import to_text
from canonry.crawler.batch import job
from canonry.crawler.batch.dedup_job import Job
from canonry.crawler.batch.results import Fate, MappedLine, as_read
from canonry.crawler.batch.summary import Summary
from canonry.crawler.files import tables


def deduplicate(
    lines: Sequence[bytes],
    make: canonry.Canonicalizer,
    seen: AbstractSet[bytes] = frozenset(),
    source: object = "-",
) -> tuple[bytes, bytes, Summary]:
    """Return the lines that are kept, the map, and the counts.

    Args:
        lines: of the input.
        make: makes the keys.
        seen: keys of resources that were seen before.
        source: the name of the input.
    """
    summary, kept, rows = Summary(lines=len(lines)), list[bytes](), list[Fate]()
    first: dict[bytes, str] = {}
    for number, (text, found) in enumerate(zip(lines, make.many(lines), strict=True), 1):
        same_as, fate = "", "seen"
        if not text.strip():
            summary.blank += 1
            continue
        if isinstance(found, canonry.Refused):
            reason = found.reason.name.lower()
            summary.refuse(reason, str(source), number, text)
            fate = f"refused: {reason}"
        elif found.key in seen:
            summary.seen += 1
        elif found.key in first:
            same_as = first[found.key]
            fate = merging_rules(make, to_text(text), same_as) or "repeated"
            if fate == "repeated":
                summary.exact += 1
            else:
                summary.merge(fate, text.decode("utf-8", "replace"), same_as)
        else:
            first[found.key] = to_text(text)
            same_as, fate = as_read(text), "first"
            summary.distinct += 1
            kept.append(text + b"\n")
        rows.append((as_read(text), same_as, fate, str(source), number))
    mapped = io.BytesIO()
    tables.table(mapped, "text", tables.column_types(MappedLine)).write(rows)
    return b"".join(kept), mapped.getvalue(), summary


def run_job(todo: Job) -> tuple[bytes, bytes, Summary]:
    """Do a job; return the lines that are kept, the map (b"" if there is none), and the counts."""
    summary = job.run(todo)
    assert todo.out is not None
    fates = b"" if todo.map is None else Path(todo.map).read_bytes()
    return Path(todo.out).read_bytes(), fates, summary

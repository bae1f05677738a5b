"""Dedup of any size on one machine: in one pass while the keys fit into memory, then in two.

The first of the two passes reads, canonicalizes in bulk and spreads 16-byte keys over partitions,
each of which is made unique; then every line has a fate. The second pass reads again and writes the
lines that are the first of their resource. Memory is bounded by the plan; fates are in mapped
files, nine bytes for each line.
"""

from collections import Counter

from canonry.crawler.batch.checkpoint import Workplace
from canonry.crawler.batch.dedup_job import Plan
from canonry.crawler.batch.passes import first_pass, one_pass
from canonry.crawler.batch.passes.first_pass import FirstPass, Start
from canonry.crawler.batch.passes.one_pass import OnePass
from canonry.crawler.batch.passes.part_writer import KeptTexts, PartWriter
from canonry.crawler.batch.passes.second_pass import Deduplicated, SecondPass
from canonry.crawler.batch.results import Results
from canonry.crawler.batch.summary import Summary
from canonry.crawler.compression import is_stream
from canonry.crawler.files.block_spool import BlockSpool


def dedup(plan: Plan, workplace: Workplace, results: Results) -> Deduplicated:
    """Run a plan.

    Args:
        plan: with ``mapped`` and ``groups`` if the results have these.
        workplace: for the job's own files.
        results: where to write.

    Raises:
        OSError: a file cannot be read or written, or has changed between the passes.
    """
    start = first_pass.begin(plan, workplace)
    with KeptTexts(workplace.folder / "texts") as texts:
        found = _dedup(plan, workplace, start, texts, results)
    results.close()
    return found


def _dedup(
    plan: Plan, workplace: Workplace, start: Start, texts: KeptTexts, results: Results
) -> Deduplicated:
    """Run a plan with the engine that suits it."""
    if not one_pass.fits(plan, start):
        fates = FirstPass(plan, workplace, start).run()
        again = plan.blocks(start.checkpoint.summary, workplace.open)
        writer = PartWriter(plan, Summary(), texts)
        return SecondPass(plan, workplace, fates, texts).run(again, 0, writer, results)
    engine = OnePass(plan, workplace, start, texts)
    left = engine.run(results)
    if left is None:
        checkpoint = start.checkpoint
        summary = checkpoint.summary.with_fates(engine.writer.counted)
        found = [(one.lines, one.text or "") for one in checkpoint.largest]
        return Deduplicated(summary, Counter(checkpoint.hosts), found)
    start, rest = left
    place = start.checkpoint.lines
    spool = BlockSpool(workplace.folder / "blocks") if any(map(is_stream, plan.files)) else None
    if spool is not None:
        rest = spool.copied(rest)
    fates = FirstPass(plan, workplace, start, rest).run()
    if spool is not None:
        again = spool.blocks()
    else:
        again = first_pass.after(plan.blocks(fates.checkpoint.summary), place)
    return SecondPass(plan, workplace, fates, texts).run(again, place, engine.writer, results)

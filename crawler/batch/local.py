"""Dedup of any size on one machine, in two passes over the same files.

The first pass reads, canonicalizes in bulk and spreads 16-byte keys over partitions, each of which
is made unique; then every line has a fate. The second pass reads again and writes the lines that
are the first of their resource. Memory is bounded by the plan; fates are in mapped files, nine
bytes for each line.
"""

from canonry.crawler.batch.checkpoint import Workplace
from canonry.crawler.batch.first_pass import FirstPass
from canonry.crawler.batch.plan import Plan
from canonry.crawler.batch.results import Results
from canonry.crawler.batch.second_pass import Deduplicated, SecondPass


def dedup(plan: Plan, workplace: Workplace, results: Results) -> Deduplicated:
    """Run a plan.

    Args:
        plan: with ``mapped`` and ``groups`` if the results have these.
        workplace: for the job's own files.
        results: where to write.

    Raises:
        OSError: a file cannot be read or written, or has changed between the passes.
    """
    fates = FirstPass(plan, workplace).run()
    found = SecondPass(plan, workplace, fates).run(results)
    results.close()
    return found

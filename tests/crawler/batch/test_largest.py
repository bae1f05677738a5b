"""The resources with the most lines: as if all were counted first, wherever the input is cut."""

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import tries

import canonry
from canonry.crawler.batch import job, key_set, largest, results
from canonry.crawler.batch.checkpoint import workplace
from canonry.crawler.batch.dedup_job import Plan
from canonry.crawler.batch.partition import Partitions
from canonry.crawler.batch.passes import one_pass
from canonry.crawler.files import line_streams
from canonry.crawler.files.formats import InputFormat

WEB = canonry.Canonicalizer("web")
_LINE = st.builds(
    "{}h{}.example/{}{}".format,
    st.sampled_from(["http://", "http://", "HTTP://", "http://u:secret@"]),
    st.integers(1, 3),
    st.integers(1, 5),
    st.sampled_from(["", "", "#x", "?utm_source=y"]),
)
_LINES = st.lists(st.one_of(_LINE, st.sampled_from(["", "no url", "http://["])), max_size=50)


def expected(lines: list[str], most: int) -> tuple[list[tuple[int, str]], Counter[str]]:
    """Return the first lines of the largest resources, and the lines of each host."""
    firsts: dict[bytes, int] = {}
    counts: Counter[bytes] = Counter()
    hosts: Counter[str] = Counter()
    for place, line in enumerate(lines):
        try:
            found = WEB(line)
        except canonry.InvalidURL:
            continue
        counts[found.key] += 1
        firsts.setdefault(found.key, place)
        hosts[found.identity.split("/")[2].rpartition("@")[2]] += 1
    rows = sorted(((n, firsts[key]) for key, n in counts.items() if n > 1), reverse=True)
    return [(n, canonry.redact(lines[place])) for n, place in rows[:most]], hosts


@given(
    _LINES,
    st.sampled_from([1, 64, 300, 4096]),
    st.sampled_from([0, 2]),
    st.sampled_from([0, 1, 300, 700]),
    st.integers(1, 4),
)
@settings(max_examples=tries(0.3), deadline=None)
def test_they_are_those_of_all_lines_wherever_the_input_is_cut(
    lines: list[str], block: int, bits: int, limit: int, most: int
) -> None:
    """Also where the keys no longer fit into memory: at once, somewhere (``limit``), or never."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(line_streams, "BLOCK", block)
        patch.setattr(Partitions, "count_for", lambda *_sizes: 1 << bits)
        patch.setattr(one_pass, "KeySet", lambda _, **kw: key_set.KeySet(limit or 1 << 20, **kw))
        patch.setattr(largest, "_MOST", most)
        path = Path(folder, "in.txt")
        path.write_text("\n".join([*lines, "http://end.example/"]))
        plan = Plan(
            files=[str(path)],
            canonicalizer=WEB,
            input_format=InputFormat("lines"),
            memory=1 << 26,
            report=True,
        )
        with workplace(None) as place:
            done = job.dedup(plan, place, results.Results())
    rows, hosts = expected(lines, most)
    assert sorted(done.largest) == sorted(rows)
    assert done.hosts == hosts + Counter(["end.example"])


@given(st.lists(st.integers(0, 30), max_size=300), st.integers(1, 40))
@settings(max_examples=tries(0.3))
def test_the_largest_so_far_are_the_largest_at_the_end(firsts: list[int], block: int) -> None:
    counts: Counter[int] = Counter()
    known: list[largest.Numerous] = []
    for start in range(0, len(firsts), block):
        lines = []
        for first in firsts[start : start + block]:
            counts[first] += 1
            lines.append(counts[first])
        here = np.array(firsts[start : start + block], np.uint64)
        known = largest.largest(
            [*known, *largest.rise(known, np.array(lines, np.uint32), here, here)]
        )
    rows = sorted(((n, first) for first, n in counts.items() if n > 1), reverse=True)
    assert [(one.lines, one.first) for one in known] == rows[:20]

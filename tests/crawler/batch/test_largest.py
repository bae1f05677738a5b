"""The resources with the most lines: as if all were counted first, wherever the input is cut."""

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import tries

import canonry
from canonry.crawler.batch import job, key_set, results
from canonry.crawler.batch.checkpoint import workplace
from canonry.crawler.batch.dedup_job import Plan
from canonry.crawler.batch.partition import Partitions
from canonry.crawler.batch.passes import one_pass, part_writer
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
        patch.setattr(one_pass, "KeySet", lambda _: key_set.KeySet(limit or 1 << 20))
        patch.setattr(part_writer, "_SHOWN", most)
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
    assert done.largest == rows
    assert done.hosts == hosts + Counter(["end.example"])


def test_beyond_a_number_of_resources_the_rarest_are_forgotten(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(line_streams, "BLOCK", 1 << 10)
    monkeypatch.setattr(part_writer, "_MOST_COUNTED", 200)
    lines = [f"http://a.example/{n}" for n in range(2000) for _again in range(2)]
    lines[::7] = ["http://often.example/"] * len(lines[::7])
    (tmp_path / "in.txt").write_text("\n".join(lines))
    plan = Plan(files=[str(tmp_path / "in.txt")], canonicalizer=WEB, report=True)
    with workplace(None) as place:
        done = job.dedup(plan, place, results.Results())
    assert done.largest[0] == (len(lines[::7]), "http://often.example/")
    assert len(done.largest) == 20

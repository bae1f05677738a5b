"""Seed lists: which lines are seeds, and what is told of the others."""

import gzip
from pathlib import Path

import pytest

from canonry.canon import Canonicalizer
from canonry.crawler.admission.scope import Scope
from canonry.crawler.admission.url_filter import URLFilter
from canonry.crawler.files.inputs import ListedSeed, read_seed_lists
from canonry.crawler.files.line_streams import Cut
from canonry.crawler.run.job.preparation import as_job, read_seeds
from canonry.crawler.settings import SettingsError, load

LIST = "# my seeds\nhttp://a.example/\r\n\n  http://b.example/#x \n#http://c.example/\nmailto:x@y\n"


def no_seeds() -> URLFilter:
    """Return a filter without seeds."""
    return URLFilter(Canonicalizer("web"), Scope("host", ()), load(None, {}))


@pytest.mark.parametrize("packed", [False, True])
def test_blank_lines_and_comments_are_skipped(tmp_path: Path, packed: bool) -> None:
    file = tmp_path / "seeds"
    file.write_bytes(gzip.compress(LIST.encode()) if packed else LIST.encode())
    assert list(read_seed_lists([str(file)])) == [
        ListedSeed("http://a.example/", f"{file}, line 2"),
        ListedSeed("http://b.example/#x", f"{file}, line 4"),
        ListedSeed("mailto:x@y", f"{file}, line 6"),
    ]


def test_bytes_that_are_not_utf_8_become_escapes_as_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "seeds").write_bytes(b"http://a.example/\xe9\n")
    [found] = read_seed_lists([str(tmp_path / "seeds")])
    assert isinstance(found, ListedSeed)
    assert found.text == "http://a.example/%E9"


def test_a_list_that_breaks_off_gives_what_was_whole(tmp_path: Path) -> None:
    lines = "".join(f"http://a.example/{n * n * 7919 % 10_007}\n" for n in range(5_000))
    (tmp_path / "seeds.gz").write_bytes(gzip.compress(lines.encode())[:-2_000])
    *seeds, cut = read_seed_lists([str(tmp_path / "seeds.gz")])
    assert isinstance(cut, Cut)
    assert len(seeds) == cut.number > 1_000


def test_a_missing_list_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"--seeds .*none.txt: there is no such file"):
        list(read_seed_lists([str(tmp_path / "none.txt")]))


def test_a_bad_line_is_told_with_its_place_and_stops_nothing() -> None:
    listed = [ListedSeed(text, f"f, line {n}") for n, text in enumerate(LIST.split("\n"), 1)]
    told: list[str] = []
    found = read_seeds(["http://d.example/"], listed[1:2] + listed[5:6], no_seeds(), told.append)
    assert [one.url for one in found] == ["http://d.example/", "http://a.example/"]
    [message] = told
    assert message.startswith("canonry: f, line 6: seed mailto:")


@pytest.mark.parametrize(("text", "asks"), [("b.example/x", True), ("x y", False), ("[x", False)])
def test_a_seed_without_a_scheme_is_asked_about_if_it_could_be_one(text: str, asks: bool) -> None:
    told: list[str] = []
    seeds = [ListedSeed("http://a.example/", "f, line 1"), ListedSeed(text, "f, line 2")]
    read_seeds([], seeds, no_seeds(), told.append)
    assert ("Did you mean" in told[0]) == asks


def test_of_many_bad_lines_most_are_only_counted() -> None:
    listed = [ListedSeed("nonsense", f"f, line {n}") for n in range(1, 1_001)]
    told: list[str] = []
    with pytest.raises(SettingsError, match=r"there is no seed: .* --seeds FILE"):
        read_seeds([], listed, no_seeds(), told.append)
    assert len(told) == 11
    assert told[-1].startswith("canonry: 990 more lines")


def test_the_job_in_the_store_stays_small_and_knows_another_list() -> None:
    listed = [ListedSeed(f"http://a.example/{n}", f"f, line {n}") for n in range(1_000)]
    job = as_job([], listed, load(None, {}))
    assert len(job) < 5_000
    assert '"count":1000' in job
    assert as_job([], listed[:-1] + listed[:1], load(None, {})) != job
    assert as_job([], listed[::-1], load(None, {})) == job

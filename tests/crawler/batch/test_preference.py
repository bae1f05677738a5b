"""Preference: the best line of each resource stays, as by hand, in every format and every way."""

import csv
import gzip
import io
import json
import math
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from support.sites import run_command

import canonry
from canonry.crawler.batch import preference
from canonry.crawler.batch.preference import Criterion, Preference
from canonry.crawler.settings import SettingsError

WEB = canonry.Canonicalizer("web")
NAMES = ("url", "fetched", "status", "note")
Row = dict[str, str]


def made(seed: int = 1, count: int = 400) -> list[Row]:
    """Return rows: about ten for each page, some without a time, two that are no URLs."""
    chance = random.Random(seed)
    ends = ("", "#x", "?utm_source=y", "/../z")
    rows = [
        {
            "url": f"http://a.example/{chance.randrange(40)}{chance.choice(ends)}",
            "fetched": chance.choice(["", f"2024-{chance.randrange(1, 13):02}-01T00:00:00Z"]),
            "status": str(chance.choice([200, 200, 404, 1000])),
            "note": chance.choice(["", "a", 'b "c", d', "longer", "é"]),
        }
        for _ in range(count)
    ]
    rows[7]["url"], rows[11]["url"] = "no url", ""
    return rows


def best(rows: list[Row], rank: Callable[[int, Row], object]) -> list[int]:
    """Return the places of the rows that stay, in order."""
    found: dict[bytes, tuple[object, int]] = {}
    for place, (row, one) in enumerate(zip(rows, WEB.many([r["url"] for r in rows]), strict=True)):
        if isinstance(one, canonry.Canonical):
            mine = (rank(place, row), place)
            found[one.key] = min(found.get(one.key, mine), mine)  # type: ignore[type-var]
    return sorted(place for _rank, place in found.values())


def newest(_place: int, row: Row) -> object:
    return (not row["fetched"], [-ord(c) for c in row["fetched"]])


WAYS: dict[tuple[str, ...], Callable[[int, Row], object]] = {
    ("fetched:max",): newest,
    ("fetched",): newest,
    ("fetched:min",): lambda _, row: (not row["fetched"], row["fetched"]),
    ("fetched:first",): lambda _, row: not row["fetched"],
    ("fetched:last",): lambda place, row: (not row["fetched"], -place if row["fetched"] else 0),
    ("note:longest",): lambda _, row: -len(row["note"].encode()) or math.inf,
    ("note:max",): lambda _, row: (not row["note"], [-n for n in row["note"].encode()] + [1]),
    ("status:max", "fetched:max"): lambda at, row: (-int(row["status"]), newest(at, row)),
    ("status=200", "fetched"): lambda at, row: (row["status"] != "200", newest(at, row)),
    ("url:shortest",): lambda _, row: len(row["url"]),
    ("url:canonical", "status:min"): lambda _, row: (
        WEB(row["url"]).identity != row["url"],
        int(row["status"]),
    ),
}


def as_csv(rows: list[Row], delimiter: str = ",") -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, NAMES, delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def written(folder: Path, rows: list[Row]) -> list[str]:
    """Write rows in all formats that have columns; return the names of the files."""
    (folder / "a.csv").write_bytes(as_csv(rows))
    (folder / "b.csv.gz").write_bytes(gzip.compress(as_csv(rows, ";")))
    lines = ["\t".join(row[name] for name in NAMES) for row in rows]
    (folder / "c.tsv").write_text("\n".join(["\t".join(NAMES), *lines]), "utf-8")
    (folder / "d.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    columns = {name: [row[name] for row in rows] for name in NAMES}
    typed = pa.table(
        columns
        | {
            "fetched": pa.array(
                [datetime.fromisoformat(at) if at else None for at in columns["fetched"]],
                pa.timestamp("us", "UTC"),
            ),
            "status": pa.array(map(int, columns["status"]), pa.int32()),
        }
    )
    parquet.write_table(typed, folder / "e.parquet", row_group_size=70)
    return [path.name for path in sorted(folder.iterdir())]


def words_of(way: tuple[str, ...]) -> list[str]:
    return [word for one in way for word in ("--prefer", one)]


def deduplicated(folder: Path, *words: str, data: bytes | None = None) -> list[str]:
    done = run_command("dedup", *words, folder=folder, data=data)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().splitlines()


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_the_best_line_stays_in_every_format(tmp_path: Path, way: tuple[str, ...]) -> None:
    rows = made()
    expected = [rows[place]["url"] for place in best(rows, WAYS[way])]
    for file in written(tmp_path, rows):
        # Values are texts or have types; how columns are found does not depend on the way.
        if file in {"a.csv", "e.parquet"} or way == ("status:max", "fetched:max"):
            assert deduplicated(tmp_path, file, "--column", "url", *words_of(way)) == expected, file


def test_whole_rows_and_several_files_and_a_pipe_and_little_memory(tmp_path: Path) -> None:
    rows, way = made(2), ("status=200", "fetched")
    places = best(rows, WAYS[way])
    lines = as_csv(rows).decode().splitlines()
    expected = [lines[0], *(lines[place + 1] for place in places)]
    words = ["--column", "url", "--keep-rows", *words_of(way)]
    assert deduplicated(tmp_path, "-", *words, data=as_csv(rows)) == expected
    (tmp_path / "1.csv").write_bytes(as_csv(rows[:150]))
    (tmp_path / "2.csv").write_bytes(as_csv(rows[150:]))
    assert deduplicated(tmp_path, "1.csv", "2.csv", *words, "--memory", "16MiB") == expected


def test_a_map_names_the_line_that_stays(tmp_path: Path) -> None:
    rows = made(3)
    (tmp_path / "in.csv").write_bytes(as_csv(rows))
    words = ("in.csv", "--column", "url", "--map", "m.csv")
    stay = deduplicated(tmp_path, *words, "--prefer", "fetched")
    with (tmp_path / "m.csv").open(newline="", encoding="utf-8") as file:
        fates = list(csv.DictReader(file))
    by_key = {WEB(url).key: url for url in stay}
    assert [fate["url"] for fate in fates if fate["rules"] == "first"] == stay
    for fate in fates:
        if not fate["rules"].startswith("refused"):
            assert fate["same_as"] == by_key[WEB(fate["url"]).key]


def test_of_new_rows_the_best_stays_and_a_published_one_is_not_replaced(tmp_path: Path) -> None:
    rows = made(4)
    (tmp_path / "1.csv").write_bytes(as_csv(rows[:200]))
    (tmp_path / "2.csv").write_bytes(as_csv(rows[200:]))
    words = ("--column", "url", "--seen", "seen.keys", "--prefer", "fetched")
    found = [deduplicated(tmp_path, name, *words) for name in ("1.csv", "2.csv")]
    places = best(rows[:200], newest)
    assert found[0] == [rows[place]["url"] for place in places]
    known = {WEB(url).key for url in found[0]}
    new = [row for row in rows[200:] if row["url"] and WEB(row["url"]).key not in known]
    assert found[1] == [new[place]["url"] for place in best(new, newest)]


def test_cdx_lines_have_their_fields(tmp_path: Path) -> None:
    cdx = [
        "example,a)/ 20240101000000 http://a.example/ text/html 200 AAA 100",
        "example,a)/ 20240301000000 http://a.example/#x text/html 404 BBB 100",
        "example,a)/ 20240201000000 http://a.example/?utm_source=y text/html 200 CCC 90",
    ]
    (tmp_path / "a.cdx").write_text("\n".join(cdx))
    found = deduplicated(tmp_path, "a.cdx", "--prefer", "statuscode=200", "--prefer", "timestamp")
    assert found == ["http://a.example/?utm_source=y"]
    (tmp_path / "b.cdx").write_text("\n".join([" CDX N b a m s k S", *cdx]))
    assert deduplicated(tmp_path, "b.cdx", "--prefer", "length:min") == found
    cdxj = [f'{key} {at} {{"url": "{url}"}}' for key, at, url, *_ in map(str.split, cdx)]
    (tmp_path / "c.cdxj").write_text("\n".join(cdxj))
    assert deduplicated(tmp_path, "c.cdxj", "--prefer", "timestamp") == ["http://a.example/#x"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["a.csv", "--prefer", "fetchd"], b"a.csv has no such column; it has url, fetched, status"),
        (["a.csv", "--prefer", "fetched:newest"], b"write COLUMN:max|min|first|last|longest"),
        (["a.txt", "--prefer", "fetched"], b"a.txt has no columns"),
        (["a.csv", "--prefer", "fetched", "--store", "s.db"], b"--prefer and --store: the first"),
    ],
)
def test_what_cannot_be_preferred_is_an_error(
    tmp_path: Path, words: list[str], says: bytes
) -> None:
    (tmp_path / "a.csv").write_bytes(as_csv(made(5, 20)))
    (tmp_path / "a.txt").write_text("http://a.example/\n")
    done = run_command("dedup", *words, folder=tmp_path)
    assert done.returncode != 0
    assert says in done.stderr


VALUES = st.one_of(
    st.none(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    st.datetimes(timezones=st.just(UTC)),
    st.text(max_size=30).filter(lambda text: preference._read(text.strip()) is None),  # noqa: SLF001
)


def order(value: object) -> tuple[int, object]:
    """Return how values are compared: numbers and times, then texts, then what is missing."""
    if value is None or value == "":
        return 2, 0
    if isinstance(value, datetime):
        return 0, value.timestamp()
    if isinstance(value, str):
        return 1, value.encode("utf-8", "surrogateescape")[:32].ljust(32, b"\0")
    return 0, value


@given(VALUES, VALUES)
def test_ranks_sort_as_their_values(one: object, other: object) -> None:
    (kind, value), (other_kind, other_value) = order(one), order(other)
    for how in ("min", "max"):
        mine, its = (preference._rank(v, Criterion("c", how)) for v in (one, other))  # noqa: SLF001
        if kind != other_kind:
            assert (mine < its) == (kind < other_kind)
        elif value == other_value:
            assert mine == its
        elif abs(float(str(value or 0))) <= 2**63 if isinstance(value, int) else True:
            assert (mine < its) == ((value < other_value) == (how == "min"))  # type: ignore[operator]


def test_texts_are_read_as_numbers_and_times() -> None:
    ascending = [
        "-3",
        "2",
        "10",
        "1e3",
        "2024-01-01",
        "2024-01-01T00:00:01+00:00",
        "abc",
        "abd",
        "",
    ]
    ranks = [preference._rank(value, Criterion("c", "min")) for value in ascending]  # noqa: SLF001
    assert ranks == sorted(ranks)
    assert len(set(ranks)) == len(ranks)


def test_criteria_are_read() -> None:
    found = Preference.of(["a:b:min", "status=200", "url:https", "url:max", "x"])
    assert found is not None
    assert found.criteria == (
        Criterion("a:b", "min"),
        Criterion("status", "=", "200"),
        Criterion("url", "https"),
        Criterion("url", "max"),
        Criterion("x", "max"),
    )
    assert Preference.of([]) is None
    for text in ("", ":max", "=", "a:https", "a:"):
        with pytest.raises(SettingsError):
            Preference.of([text])

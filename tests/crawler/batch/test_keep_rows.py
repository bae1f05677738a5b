"""Whole rows: the first of each resource, in order, as it was read."""

import csv
import gzip
import io
import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.sites import run_command

import canonry
from canonry import sql
from canonry.crawler.files.blocks import Block, BlockSpool, read
from canonry.crawler.files.formats import InputFormat

WEB = canonry.Canonicalizer("web")
ENDS = ("", "#x", "?utm_source=y", "/../z")
URLS = [f"http://a.example/{n * 7 % 40}{ENDS[n % 4]}" for n in range(90)] + ["no url", ""]


def firsts() -> list[int]:
    """Return the places of the first URLs of each resource."""
    found: dict[bytes, int] = {}
    for place, one in enumerate(WEB.many(URLS)):
        if isinstance(one, canonry.Canonical):
            found.setdefault(one.key, place)
    return list(found.values())


def kept(folder: Path, *words: str, data: bytes | None = None) -> bytes:
    done = run_command("dedup", *words, "--keep-rows", folder=folder, data=data)
    assert done.returncode == 0, done.stderr
    return done.stdout


def made_csv(delimiter: str = ",", ending: str = "\r\n") -> list[bytes]:
    """Return the lines of a table with notes that need quotes, with those that its writer sets."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\0", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(["id", "url", "a note"])
    writer.writerows((n, url, f'{delimiter} "{n}"{ending}é') for n, url in enumerate(URLS))
    return [row.encode() for row in out.getvalue().split("\0")[:-1]]


MORE = ((), ("--prefer", "url:first"), ("--memory", "16MiB", "--map", "m"), ("--report", "r.html"))


@pytest.mark.parametrize("more", MORE, ids=" ".join)
@pytest.mark.parametrize(("delimiter", "ending"), [(",", "\r\n"), (";", "\n"), ("\x1f", "\r\n")])
def test_csv_keeps_its_quotes_and_columns(
    tmp_path: Path, delimiter: str, ending: str, more: tuple[str, ...]
) -> None:
    rows = made_csv(delimiter, ending)
    (tmp_path / "in.csv").write_bytes(ending.encode().join(rows) + ending.encode())
    found = kept(tmp_path, "in.csv", "--column", "url", "--delimiter", delimiter, *more)
    assert found == b"".join(rows[n] + b"\n" for n in (0, *(n + 1 for n in firsts())))


def test_a_pipe_and_a_compressed_file_and_several_files(tmp_path: Path) -> None:
    rows = made_csv()
    expected = b"".join(rows[n] + b"\n" for n in (0, *(n + 1 for n in firsts())))
    data = b"\r\n".join(rows)
    assert kept(tmp_path, "-", "--column", "url", data=data) == expected
    (tmp_path / "1").write_bytes(gzip.compress(b"\n".join(rows[:40])))
    (tmp_path / "2").write_bytes(b"\n".join([rows[0], *rows[40:]]))
    kept(tmp_path, "1", "2", "--column", "url", "-o", "o.csv.gz")
    assert gzip.decompress((tmp_path / "o.csv.gz").read_bytes()) == expected
    (tmp_path / "3").write_bytes(rows[0].replace(b"id", b"no") + b"\n" + rows[1])
    done = run_command("dedup", "1", "3", "--keep-rows", "-o", "x", folder=tmp_path)
    assert done.returncode == 1
    assert b"--keep-rows: 3 has other columns than 1" in done.stderr
    assert not (tmp_path / "x").exists()


def test_tsv_and_jsonl_and_lines_keep_their_lines(tmp_path: Path) -> None:
    tsv = [b"n\turl\tnote", *(f'{n}\t{url}\t"é'.encode() for n, url in enumerate(URLS))]
    expected = b"".join(tsv[n] + b"\n" for n in (0, *(n + 1 for n in firsts())))
    assert kept(tmp_path, "-", "--column", "url", data=b"\r\n".join(tsv)) == expected
    assert (
        kept(tmp_path, "-", "--column", "2", data=b"\n".join(tsv[1:]))
        == expected.partition(b"\n")[2]
    )
    objects = [f'{{"n": {n},  "url":{json.dumps(url)} }}'.encode() for n, url in enumerate(URLS)]
    assert kept(tmp_path, "-", data=b"\n".join(objects)).splitlines() == [
        objects[n] for n in firsts()
    ]
    lines = "\n".join(URLS).encode()
    assert kept(tmp_path, "-", data=lines).decode().splitlines() == [URLS[n] for n in firsts()]


@pytest.mark.parametrize("more", MORE[:2], ids=" ".join)
def test_parquet_keeps_its_types_and_metadata(tmp_path: Path, more: tuple[str, ...]) -> None:
    count = len(URLS)
    table = pa.table(
        {
            "n": pa.array(range(count), pa.int16()),
            "url": [*URLS[:-1], None],
            "kind": pa.array(["a", "b"] * (count // 2)).dictionary_encode(),
            "list": [[n, None] for n in range(count)],
            "of": [{"x": str(n)} for n in range(count)],
        }
    ).replace_schema_metadata({"made": "by us"})
    parquet.write_table(table, tmp_path / "in.parquet", row_group_size=17)
    kept(tmp_path, "in.parquet", "--column", "url", "-o", "out.parquet", *more)
    found, given = (parquet.read_table(tmp_path / f"{n}.parquet") for n in ("out", "in"))
    assert found.schema.equals(given.schema, check_metadata=True)
    assert found.schema.metadata == {b"made": b"by us"}
    assert found.to_pylist() == table.take(firsts()).to_pylist()


@pytest.mark.parametrize("codec", ["snappy", "none"])
def test_parquet_is_compressed_and_grouped_as_it_was(tmp_path: Path, codec: str) -> None:
    count = 140_000  # more than one batch of the reader
    table = pa.table({"n": range(count), "url": [f"http://a.example/{n}" for n in range(count)]})
    parquet.write_table(table, tmp_path / "in", compression=codec, row_group_size=70_000)
    kept(tmp_path, "in", "--column", "url", "-o", "out")
    found, given = (parquet.ParquetFile(tmp_path / name).metadata for name in ("out", "in"))
    assert found.row_group(0).column(1).compression == given.row_group(0).column(1).compression
    assert found.num_row_groups == given.num_row_groups == 2
    assert parquet.read_table(tmp_path / "out").equals(table)


def test_parquet_without_rows_keeps_its_columns(tmp_path: Path) -> None:
    table = pa.table({"n": pa.array([], pa.int16()), "url": pa.array([], pa.string())})
    parquet.write_table(table, tmp_path / "in")
    kept(tmp_path, "in", "-o", "out")
    assert parquet.read_table(tmp_path / "out").equals(table)


def test_duckdb_finds_the_same_rows(tmp_path: Path) -> None:
    rows = made_csv(ending="\n")
    (tmp_path / "in.csv").write_bytes(b"\n".join(rows) + b"\n")
    kept(tmp_path, "in.csv", "-o", "out.csv")
    duck = duckdb.connect()
    sql.register(duck)
    of = "read_csv(?, header = true, all_varchar = true, parallel = false, quote = '\"')"
    expected = duck.execute(  # nothing here is from elsewhere
        f"SELECT * EXCLUDE (k) FROM (SELECT *, canonry_key(url) AS k FROM {of})"  # noqa: S608
        " WHERE k IS NOT NULL QUALIFY row_number() OVER (PARTITION BY k ORDER BY id::INT) = 1"
        " ORDER BY id::INT",
        [str(tmp_path / "in.csv")],
    ).fetchall()
    assert len(expected) > 30
    ours = f"SELECT * FROM {of}"  # noqa: S608 - as above
    assert duck.execute(ours, [str(tmp_path / "out.csv")]).fetchall() == expected


def test_rows_against_yesterdays(tmp_path: Path) -> None:
    rows = made_csv()
    (tmp_path / "1.csv").write_bytes(b"\n".join(rows[:30]))
    (tmp_path / "2.csv").write_bytes(b"\n".join(rows))
    words = ["--column", "url", "--seen", "s.keys"]
    first = kept(tmp_path, "1.csv", *words)
    second = kept(tmp_path, "2.csv", *words)
    header, _, rest = second.partition(b"\n")
    assert header == rows[0]
    assert first + rest == b"".join(rows[n] + b"\n" for n in (0, *(n + 1 for n in firsts())))


def test_a_table_without_rows_keeps_its_header(tmp_path: Path) -> None:
    assert kept(tmp_path, "-", "--column", "url", data=b"id,url\n") == b"id,url\n"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_spooled_blocks_have_their_rows(tmp_path: Path, kind: str) -> None:
    if kind == "csv":
        (tmp_path / "in").write_bytes(b"\n".join(made_csv()))
    else:
        parquet.write_table(pa.table({"n": range(len(URLS)), "url": URLS}), tmp_path / "in")
    wanted = InputFormat(column="url", keep_rows=True)
    found = [b for b in read([str(tmp_path / "in")], input_format=wanted) if isinstance(b, Block)]
    assert found
    spool = BlockSpool(tmp_path / "spool")
    for block in found:
        spool.put(block)
    assert list(spool.blocks()) == found


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--store", "sqlite:///s.db"], 2, "--keep-rows and --store: "),
        (["-o", "x.parquet"], 2, "-o x.parquet: --keep-rows keeps the format of the rows"),
        (["--input", "sitemap"], 1, "sitemap has no rows for --keep-rows or --prefer"),
    ],
)
def test_what_cannot_keep_rows_is_told(
    tmp_path: Path, words: list[str], code: int, said: str
) -> None:
    (tmp_path / "in").write_bytes(b"id,url\n1,http://a.example/\n")
    done = run_command("dedup", "in", "--keep-rows", *words, folder=tmp_path)
    assert done.returncode == code, done.stderr
    assert said in done.stderr.decode()
    assert [path.name for path in tmp_path.iterdir()] == ["in"]

"""Tables as other programs export them: which column has the URLs of the rows, in every format."""

import csv
import gzip
import json
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

from canonry.crawler.cli.commands import main

# Columns of Screaming Frog's internal_html.csv, in its order; most of these have texts.
_FROG = (
    *("Address", "Content Type", "Status Code", "Status", "Indexability", "Indexability Status"),
    *("Title 1", "Title 1 Length", "Title 1 Pixel Width", "Meta Description 1", "H1-1", "H2-1"),
    *("Meta Robots 1", "X-Robots-Tag 1", "Meta Refresh 1", "Canonical Link Element 1"),
    *('rel="next" 1', 'rel="prev" 1', "amphtml Link Element", "Size (bytes)", "Word Count"),
    *("Crawl Depth", "Inlinks", "Outlinks", "Hash", "Response Time", "Last Modified"),
    *("Redirect URL", "Redirect Type", "Closest Similarity Match", "URL Encoded Address"),
)


def frog(count: int) -> list[dict[str, str]]:
    """Return rows of such an export, where some pages name another one as canonical."""
    rows = []
    for number in range(count):
        address = f"https://shop.example/page/{number}"
        row = dict.fromkeys(_FROG, "some text, 12\n" * 3)
        row["Address"] = row["URL Encoded Address"] = address
        is_image = number % 5 == 4
        row["Canonical Link Element 1"] = "" if is_image else f"{address[:-1]}0"
        row["Redirect URL"] = f"{address}/" if is_image else ""
        rows.append(row)
    return rows


def write(path: Path, rows: list[dict[str, str]]) -> None:
    """Write rows in the format of a file's name."""
    if path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            delimiter = "\t" if path.suffix == ".tsv" else ","
            writer = csv.DictWriter(
                file, rows[0].keys(), delimiter=delimiter, quoting=csv.QUOTE_ALL
            )
            writer.writeheader()
            writer.writerows(rows)


def dedup(path: Path, *words: str) -> Result:
    """Run a dedup in this process."""
    out = ["-o", str(path.with_name("out"))]
    return CliRunner().invoke(main, ["dedup", str(path), "--workers", "1", *out, *words])


def kept(path: Path) -> list[str]:
    """Return the lines that such a dedup has kept."""
    return path.with_name("out").read_text().splitlines()


_FORMATS = pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])


@_FORMATS
@pytest.mark.parametrize("first", [0, 4])  # a page that names its canonical URL, and one without
def test_the_address_of_a_page_is_taken_and_not_its_canonical_url(
    tmp_path: Path, ending: str, first: int
) -> None:
    path = tmp_path / f"internal_html.{ending}"
    rows = frog(60)[first:]
    write(path, rows)
    done = dedup(path)
    assert kept(path) == [row["Address"] for row in rows], done.output
    assert "'Address'" in done.output
    assert done.exit_code == 0


@_FORMATS
@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (("Referring page URL", "Target URL"), "Target URL"),  # Ahrefs' backlinks
        (("source_image", "page", "image url"), "page"),
        (("canonical_url", "redirectUrl", "loc"), "loc"),
        (("from", "to_uri", "uri"), "uri"),
        (("seen", "at"), "seen"),
    ],
)
def test_among_columns_with_a_url_in_every_row_the_name_decides(
    tmp_path: Path, ending: str, names: tuple[str, ...], chosen: str
) -> None:
    path = tmp_path / f"x.{ending}"
    write(path, [{name: f"http://{n}.example/{m}" for m, name in enumerate(names)} for n in "abc"])
    done = dedup(path)
    assert kept(path) == [f"http://{n}.example/{names.index(chosen)}" for n in "abc"], done.output


@_FORMATS
def test_a_column_without_gaps_goes_before_a_better_name(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x.{ending}"
    rows = [
        {"link": f"http://a.example/{n}" * (n > 0), "found": f"http://b.example/{n}"}
        for n in range(9)
    ]
    write(path, rows)
    dedup(path)
    assert kept(path) == [row["found"] for row in rows]


@_FORMATS
def test_urls_of_other_pages_are_taken_only_if_their_column_is_named(
    tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"x.{ending}"
    rows = [{"canonical": f"http://a.example/{n}", "n": f"{n}"} for n in range(3)]
    write(path, rows)
    done = dedup(path)
    assert done.exit_code == 1
    assert "name it with --column: canonical" in done.output.replace("\n", " ")
    assert not (tmp_path / "out").exists()
    assert dedup(path, "--column", "canonical").exit_code == 0
    assert kept(path) == [row["canonical"] for row in rows]


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
@pytest.mark.parametrize("words", [[], ["--column", "page.url"], ["--keep-rows"]])
def test_urls_may_be_in_a_record_within_a_record(
    tmp_path: Path, ending: str, words: list[str]
) -> None:
    path = tmp_path / f"x.{ending}"
    urls = [f"http://a.example/{n}" for n in range(5)]
    rows = [{"page": {"url": url, "image": "http://i.example/"}, "site": "x"} for url in urls]
    write(path, [*rows, rows[0]])  # type: ignore[list-item]
    done = dedup(path, *words)
    assert "5 distinct" in done.output
    assert ("'page.url'" in done.output) == (words != ["--column", "page.url"])
    if "--keep-rows" not in words:
        assert kept(path) == urls
    elif ending == "parquet":
        assert parquet.read_table(tmp_path / "out").to_pylist() == rows
    else:
        assert [json.loads(row) for row in kept(path)] == rows


def test_a_wrong_field_of_parquet_is_answered_with_the_right_one(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    write(path, [{"page": {"url": "http://a.example/"}, "n": "1"}])  # type: ignore[dict-item]
    done = dedup(path, "--column", "page.ulr")
    assert done.exit_code == 2
    assert (
        "no column 'page.ulr'; it has page.url, n; did you mean --column page.url?" in done.output
    )


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("content", "urls"),
    [
        ("https://a.example/,Home\nhttps://a.example/b,Shop\n", ["/", "/b"]),
        ('https://a.example/,"Home, and more"\nhttps://a.example/b,Shop\n', ["/", "/b"]),
        ("https://a.example/;Home\n", ["/"]),
        ("page,views\nhttps://a.example/b,7\n", ["/b"]),
    ],
)
def test_a_file_that_is_called_csv_is_a_table(
    tmp_path: Path, compress: object, content: str, urls: list[str]
) -> None:
    path = tmp_path / ("x.csv" if compress is bytes else "x.CSV.gz")
    path.write_bytes(compress(content.encode()))  # type: ignore[operator]
    done = dedup(path)
    assert kept(path) == [f"https://a.example{url}" for url in urls]
    assert "--input lines reads whole lines" in done.output


def test_a_list_that_is_called_csv_keeps_the_commas_of_its_urls(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    for content in (
        "http://a.example/1,2\nhttp://a.example/3\nhttp://a.example/4,5,6\n",
        "url\nhttp://a.example/1,2\n",
    ):
        path.write_text(content)
        assert dedup(path).exit_code == 0
        assert kept(path) == [line for line in content.splitlines() if line != "url"]


def test_more_than_a_tenth_of_blank_rows_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    rows = [{"n": f"{n}", "at": f"http://a.example/{n}" * (n > 2)} for n in range(20)]
    write(path, rows)
    told = "3 of 20 lines are blank; if they are rows of a table, --column NAME|N says where"
    assert told in dedup(path).output
    assert told in dedup(path, "--json").output
    assert told in CliRunner().invoke(main, ["migrate", "--from", "surt", str(path)]).output
    write(path, [*rows[1:], rows[-1]])  # a tenth
    assert "are blank" not in dedup(path).output


_AT = "[10/Oct/2000:13:55:36 -0700]"


@pytest.mark.parametrize(
    ("line", "url"),
    [
        (f'127.0.0.1 - frank {_AT} "GET /a?b=1 HTTP/1.0" 200 2326', "/a?b=1"),
        (f'::1 - - {_AT} "GET /a HTTP/1.1" 200 - "http://r.example/" "Agent [1] \\"x\\""', "/a"),
        (f'shop.example:443 10.0.0.1 - a b {_AT} "POST / HTTP/2.0" 302 0 "-" "-"', "/"),
        (f'- - - {_AT} "GET //a.example/b HTTP/1.1" 404 0', "//a.example/b"),
        (f'- - - {_AT} "GET /a\\"b\\\\c\\xc3\\xa9 HTTP/1.1" 404 0', '/a"b\\cé'),
        (f'- - - {_AT} "GET /old" 200 1', "/old"),
        (f'- - - {_AT} "GET http://other.example/x HTTP/1.1" 200 1', "http://other.example/x"),
    ],
)
def test_the_urls_of_an_access_log_are_those_of_its_requests(
    tmp_path: Path, line: str, url: str
) -> None:
    path = tmp_path / "access.log"
    path.write_text(f"{line}\n\n")
    done = dedup(path, "--input", "log", "--base", "https://shop.example/any?thing")
    assert done.exit_code == 0, done.output
    assert kept(path) == [url if "://" in url else f"https://shop.example{url}"]


def test_requests_without_a_url_are_refused_and_the_rest_is_done(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    bad = [
        '"-" 400 0',
        '"OPTIONS * HTTP/1.1" 200 0',
        '"CONNECT a.example:443 HTTP/1.1" 405 0',
        '"\\x16\\x03" 400 0',
    ]
    good = '"GET /a HTTP/1.1" 200 0'
    path.write_text("".join(f"1.2.3.4 - - {_AT} {one}\n" for one in (*bad, good, good)))
    words = ["--input", "log", "--base", "http://a.example"]
    done = dedup(path, *words)
    assert "1 distinct, 1 repeated, 0 merged by rules, 4 refused" in done.output
    assert kept(path) == ["http://a.example/a"]
    assert dedup(path, *words, "--keep-rows").exit_code == 0
    assert kept(path) == [f"1.2.3.4 - - {_AT} {good}"]
    done = CliRunner().invoke(main, ["migrate", "--from", "surt", str(path), *words])
    assert done.output.count("http://a.example/a\t") == 4


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "an access log; --input log --base URL reads it"),
        (["--input", "log"], "--input log: add --base URL"),
        (["--base", "http://a.example"], "--base: it is for --input log"),
        (["--input", "csv", "--base", "http://a.example"], "--base: it is for --input log"),
        (["--input", "log", "--base", "a.example"], "--base a.example: write a URL such as"),
        (["--input", "log", "--base", "ftp://a.example"], "--base ftp://a.example: write a URL"),
        (["--input", "log", "--base", "http://a.example", "--column", "1"], "log has none"),
    ],
)
def test_a_log_needs_the_site_that_wrote_it(tmp_path: Path, words: list[str], told: str) -> None:
    path = tmp_path / "access.log"
    path.write_text(f'1.2.3.4 - - {_AT} "GET /a HTTP/1.1" 200 0\n')
    done = dedup(path, *words)
    assert done.exit_code == (2 if words else 1)
    assert told in done.output.replace("\n", " ")
    assert not (tmp_path / "out").exists()

"""Tables of which no column was named: told by names and by values, and never in a plain list."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from support.tables import each

from canonry.crawler.cli.commands import main
from canonry.crawler.files import blocks
from canonry.crawler.files.formats import InputFormat
from canonry.crawler.files.sniffing import (
    delimiter_for,
    key_of_urls,
    missing_key,
    named_like_a_url,
    sniff,
)

A, B = "http://a.example/1,2", "http://a.example/3"


@each(
    ("text", "found"),
    [
        (f'id,url\n1,"{A}"\n', (",", "url")),
        (f"id;URL;x\n1;{A};y\n", (";", "URL")),
        (f"n\tloc\n1\t{A}\n", ("\t", "loc")),
        (f"n|href\n1|{A}\n", ("|", "href")),
        ("link,url\n/a,/b\n", (",", "url")),  # the likeliest name
        (f"a,b\n1,{B}\n2,{B}\n", (",", "b")),  # by the values
        (f"a,a\n1,{B}\n2,{B}\n", (",", "2")),
        (f"Address,Status\n{B},200\n{B},404\n", (",", "Address")),
        (f"id,referrer,target_url\n1,{B},{B}\n2,{B},{B}\n", (",", "target_url")),
        (f"referrerUrl,from,pageURL\n{B},{B},{B}\n{B},{B},{B}\n", (",", "pageURL")),
        (f"referer_url,to\n{B},{B}\n{B},{B}\n", (",", "to")),
        (f"to,target_url\n{B},x\n{B},y\n", (",", "to")),  # what has URLs
        (f"a_url,a_url,n\nx,{B},1\ny,{B},2\n", (",", "2")),
        (f"a_url,n,a_url\n{B},1,x\n{B},2,y\n", (",", "a_url")),  # the name is its, too
        (f"1,{B}\n2,{B}\n", (",", "2")),  # without names
        (f'"{A}","1"\n"{B}","2"\n', (",", "1")),
        (f"url\n{A}\n", ("\t", "url")),  # the only column: its commas belong to the URLs
        (f'"url"\n"{A}"\n', (",", "url")),
        (f"Address,Status\n{B},200\n", None),  # that may be a list with a word above it
        (f"{A}\n{B}\n", None),
        (f"{A},{B}\n{B},{A}\n", None),
        (f"http://a.example/?q=1,url\n{A}\n", None),
        (f"# a list, of urls\n{A}\n{B}\n", None),
        ("a,b\n1,2\n", None),
        ("url\n", None),
        ("", None),
        (f"\nid,url\n1,{B}\n", None),
        (f'id,url\n"1,{B}\n', (",", "url")),
        (f'id,x\n"1,{B}\n', None),
        (f"{B}\tx\t1\n{A}\ty\t1\n", ("\t", "1")),  # no URL has a tab
        (f"{B}\thref\n{A}\tx\n", ("\t", "1")),  # a row with a URL has no names
        (f"x\thref\t{B}\ny\tz\t{A}\n", ("\t", "3")),
        (f"link\turl\nx\t{B}\n/y\t{B}\n", ("\t", "url")),  # what has URLs, not what is called so
        (f"url\tpage\n/x\t{B}\n/y\t{B}\n", ("\t", "page")),
        (f"{B},{B}\n{B},{B}\n", (",", "1")),  # two columns of URLs
        (f"{B},x,1\n{B},y,1\n", None),  # the commas may belong to the URLs
        (f"n\turl\n1\t{B}\n2\tnone\n3\t{B}\n", ("\t", "url")),  # most rows have one
        (f"1\t{B}\n2\n3\n4\n", None),
    ],
)
def test_a_table_is_told_from_a_list(text: str, found: tuple[str, str] | None) -> None:
    assert sniff(text.encode()) == found


def test_a_key_is_chosen_as_a_column_is() -> None:
    assert key_of_urls(f'{{"referrer": "{A}", "target_url": "{B}"}}\n'.encode()) == "target_url"
    assert key_of_urls(f'{{"from": "{A}", "to": "{B}"}}\n'.encode()) == "from"
    assert key_of_urls(b'{"target_url": 1}\n') is None


_REST = st.text(st.sampled_from("ab1,;|\" /?='"), max_size=12)


@given(st.lists(_REST, min_size=1, max_size=6))
def test_a_list_of_urls_is_no_table(rests: list[str]) -> None:
    assert sniff("\n".join(f"http://a.example/{rest}" for rest in rests).encode()) is None


@given(st.binary(max_size=60))
def test_any_bytes_can_be_sniffed(head: bytes) -> None:
    sniff(head)
    delimiter_for(head, "url")
    key_of_urls(head)
    InputFormat().find(head)


def test_a_column_tells_what_separates_it() -> None:
    assert delimiter_for(b"a;url\n", "url") == ";"
    assert delimiter_for(b"a|b|c\n", "3") == "|"
    assert delimiter_for(b"http://a.example/;1\n", "1") == ","
    assert delimiter_for(b"a,b\n", "none") == ","
    assert named_like_a_url(["x", "Link", "URL"]) == "URL"
    assert named_like_a_url(["x"]) is None


def dedup(folder: Path, content: str, *words: str) -> Result:
    """Run a dedup of a file, in this process."""
    (folder / "in").write_text(content, encoding="utf-8")
    out = ["-o", str(folder / "out")]
    return CliRunner().invoke(main, ["dedup", str(folder / "in"), "--workers", "1", *out, *words])


@pytest.mark.parametrize(
    ("content", "words", "kept", "said"),
    [
        (f"id;url\n1;{A}\n2;{B}\n", [], [A, B], "URLs in column 'url'"),
        (f"id~url\n1~{A}\n2~{B}\n", ["--delimiter", "~"], [A, B], "'~' between its columns"),
        (f"id\turl\n1\t{A}\n2\t{B}\n", ["--delimiter", "tab"], [A, B], "tabs between its columns"),
        (f"id;url\n1;{A}\n2;{B}\n", ["--column", "url"], [A, B], ""),
        (f"referrer;to_url\n{A};x\n{B};y\n", ["--column", "referrer"], [A, B], ""),
        (f"{A}\n{B}\n", [], [A, B], ""),
        (f"url\n{A}\n{B}\n", ["--input", "lines"], [A, B], "1 refused"),
        (f"1;{A}\n2;{B}\n", ["--input", "csv"], [A, B], "URLs in column '2'"),
    ],
)
def test_dedup_says_which_column_it_took(
    tmp_path: Path, content: str, words: list[str], kept: list[str], said: str
) -> None:
    done = dedup(tmp_path, content, *words)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out").read_text().splitlines() == kept
    assert said in done.output
    assert ("a table with" in done.output) == ("column" in said)


@pytest.mark.parametrize(
    ("content", "words", "said"),
    [
        (
            f"{B},x,1\n{B},y,1\n",
            [],
            "all have as many ','; if these separate columns, add --column 1",
        ),
        ("nothing\nhere\n", [], "no line is a URL"),
        (f"{B}\tx\n", ["--column", "7"], "in: no column 7; its rows have 2"),
        (f"{B},x\n", ["--column", "7"], "in: no column 7; its rows have 2"),
        (f"{B}\tx\n", ["--column", "nope"], f"in: no column 'nope'; it has {B}, x"),
    ],
)
def test_what_is_probably_meant_otherwise_is_said(
    tmp_path: Path, content: str, words: list[str], said: str
) -> None:
    done = dedup(tmp_path, content, *words)
    assert said in done.output
    assert done.exit_code == (2 if words else 1 if content.startswith("n") else 0)


def test_a_column_that_some_files_have_is_no_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "more").write_text(f"x\tnope\n1\t{A}\n", encoding="utf-8")
    done = dedup(tmp_path, f"{B}\tx\n", str(tmp_path / "more"), "--column", "nope")
    assert done.exit_code == 1
    assert (tmp_path / "out").read_text() == f"{A}\n"


def test_an_output_in_no_folder_is_named(tmp_path: Path) -> None:
    done = dedup(tmp_path, f"{B}\n", "-o", str(tmp_path / "none" / "x"))
    assert done.exit_code == 2
    assert f"{tmp_path / 'none' / 'x'}: No such file" in done.output.replace("\n", "")


def test_a_wrong_column_is_answered_with_the_right_one(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("before")
    content = f"id,page,url\n1,x,{B}\n"
    done = dedup(tmp_path, content, "--column", "ulr")
    assert (done.exit_code, (tmp_path / "out").read_text()) == (2, "before")
    assert "no column 'ulr'; it has id, page, url; did you mean --column url?" in done.output
    assert "did you mean --column url?" in dedup(tmp_path, content, "--column", "nothing").output
    assert "did you mean --column page?" in dedup(tmp_path, content, "--column", "pag").output


def test_jsonl_without_the_key_is_told(tmp_path: Path) -> None:
    content = f'{{"id":1,"lnk":"x"}}\n{{"lnk":"{B}","x":[]}}\n'
    told = "its first records have no key 'url'; they have id, lnk, x"
    assert told in dedup(tmp_path, content).output
    assert "did you mean --column lnk?" in dedup(tmp_path, content, "--column", "link").output
    for column in ("lnk", "lnk.x"):
        assert "no key" not in dedup(tmp_path, content, "--column", column).output
    assert missing_key(b'[1]\nnull\n{"a":1}\n{', "url") == ["a"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (f'{{"id":1,"link":"{A}"}}\n{{"link":"/b"}}\n', "link"),
        (f'{{"id":1,"Seen on":"{A}"}}\n{{"Seen on":"{B}"}}\n', "Seen on"),
        (f'{{"id":1,"page":"{A}"}}\n{{"page":null}}\n', "page"),
        (f'{{"a.b":"{A}"}}\n{{"":"{B}"}}\n', None),
        ("[1]\n", None),
    ],
)
def test_the_key_of_jsonl_is_found_by_its_name_or_values(text: str, key: str | None) -> None:
    assert key_of_urls(text.encode()) == key


def test_dedup_takes_the_key_that_it_has_found(tmp_path: Path) -> None:
    content = f'{{"id":1,"Seen on":"{A}"}}\n{{"Seen on":"{B}"}}\n'
    done = dedup(tmp_path, content)
    assert "URLs in the key 'Seen on'; --column names another" in done.output
    assert (tmp_path / "out").read_text() == f"{A}\n{B}\n"
    assert "did you mean --column 'Seen on'?" in dedup(tmp_path, content, "--column", "Seen").output


def test_a_table_with_tabs_between_quoted_names_is_csv(tmp_path: Path) -> None:
    content = f'"id"\t"at"\t"title"\n"1"\t"{A}"\t"two\nlines"\n"2"\t"{B}"\t"a\t""b"""\n'
    for words in ([], ["--column", "at"], ["--column", "at", "--input", "csv"]):
        done = dedup(tmp_path, content, *words, "--keep-rows")
        assert "2 distinct" in done.output, words
        assert (tmp_path / "out").read_text() == content
    torn = dedup(tmp_path, content, "--input", "tsv", "--column", "2")  # a row is a line there
    assert "2 distinct" in torn.output
    assert "record" in torn.output


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_separator_of_a_workbook_is_no_row(tmp_path: Path, mark: str, end: str) -> None:
    """Excel writes it above a table for countries where a comma is in numbers."""
    content = end.join([f"{mark}sep=;", "id;url", f"1;{A}", f'2;"{B}"', ""])
    for words in ([], ["--column", "url"], ["--column", "2", "--delimiter", ";"]):
        assert "2 distinct" in dedup(tmp_path, content, *words).output, words
    dedup(tmp_path, content, "--keep-rows")
    kept = (tmp_path / "out").read_text().split()
    assert kept == ["id;url", f"1;{A}", f'2;"{B}"']


def test_quotes_around_some_texts_with_tabs_are_no_part_of_urls(tmp_path: Path) -> None:
    """DuckDB writes them around what has a hash, and pandas around what has a quote."""
    content = f'id\turl\n1\t{A}\n2\t"{B}#x"\r\n3\t"{B}?""y"""\n4\t"\n5\t{B}#"\n'
    done = dedup(tmp_path, content)
    assert (tmp_path / "out").read_text() == f'{A}\n{B}#x\n{B}?"y"\n'
    assert "1 refused" in done.output  # the lone quote
    named = dedup(tmp_path, f'id\t"a b"\n1\t{A}\n', "--column", "a b", "--input", "tsv")
    assert "1 distinct" in named.output


@pytest.mark.parametrize("missing", ["\\N", "", "NULL"])
def test_values_that_are_missing_say_nothing_of_a_column(missing: str) -> None:
    """As PostgreSQL's COPY and MySQL's OUTFILE write them, without a line of names."""
    assert sniff(f"1\t{A}\n2\t{missing}\n3\t{B}\n".encode()) == ("\t", "2")
    assert sniff(f"1\t{A}\n2\t-\n".encode()) is None
    assert sniff(f"a,b\n1,{missing}\n2,{missing}\n".encode()) is None


def test_a_table_that_nobody_recognized_is_told(tmp_path: Path) -> None:
    advice = "--column NAME|N says where its URLs are"
    assert advice in dedup(tmp_path, f"a b\n1 {A}\n").output
    assert advice not in dedup(tmp_path, f"a b\n{A}\n").output
    (tmp_path / "out").unlink(missing_ok=True)
    assert advice in dedup(tmp_path, "\n").output


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"PK\x03\x04\x14\0", "a ZIP archive or a workbook"),
        (b"\xef\xbb\xbf[\n {", "one array of JSON"),
        (b'["http://a.example/"]', "one array of JSON"),
        (b"a.txt".ljust(257, b"\0") + b"ustar\x0000", "a tar archive"),
        (b"ARROW1\0\0\xff", "an Arrow file"),
        (b"SQLite format 3\0\x10", "a database"),
    ],
)
def test_what_holds_no_lines_is_told_and_left_out(tmp_path: Path, head: bytes, said: str) -> None:
    (tmp_path / "in").write_bytes(head + bytes(40))
    (tmp_path / "list").write_text(f"{A}\n")
    out = tmp_path / "out"
    alone = CliRunner().invoke(main, ["dedup", str(tmp_path / "in"), "-o", str(out)])
    assert (alone.exit_code, out.exists()) == (1, False)
    assert f"cannot be read ({said}" in alone.output
    words = ["dedup", str(tmp_path / "in"), str(tmp_path / "list"), "-o", str(out)]
    assert CliRunner().invoke(main, words).exit_code == 1
    assert out.read_text() == f"{A}\n"
    assert CliRunner().invoke(main, [*words, "--input", "lines"]).exit_code == 0


@pytest.mark.parametrize("delimiter", [";;", "", "\n", '"'])
def test_a_delimiter_is_one_character(tmp_path: Path, delimiter: str) -> None:
    done = dedup(tmp_path, A, "--delimiter", delimiter)
    assert done.exit_code == 2
    assert "write one character" in done.output
    assert (
        "--delimiter: jsonl has none"
        in dedup(tmp_path, A, "--delimiter", ";", "--input", "jsonl").output
    )


def test_the_format_of_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(f"id,url\n1,{B}\n")
    found = blocks.format_of(str(tmp_path / "x"))
    assert (found.name, found.column) == ("csv", "url")
    (tmp_path / "x").write_text('{"url":1}')
    assert blocks.format_of(str(tmp_path / "x")).note is None

"""The keys of other programs are theirs, exactly; and the map from them to ours."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import surt as their_surt
import w3lib.url
from click.testing import CliRunner, Result
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.strategies import tries

from canonry import InvalidURL
from canonry.compat import fingerprint, surt
from canonry.compat.w3lib import canonicalize_url
from canonry.crawler.cli.commands import main

TOKENS = [
    "http:", "https://", "HTTP://", "ftp:", "mailto:", "foo:", "//", "/", "\\", "?", "#", "&", "=",
    ";", ".", "..", "%2e", "%2F", "%2f", "%25", "%3b", "%", "%zz", "%41", "%C3%A9", "%E9", "+",
    "%20", "%2B", " ", "|", "[", "]", "[::1]", "[::0:1]", "[v1.a]", "[1.2.3.4]", "@", "u:p@", ":80",
    ":080", ":99999", ":", "x", "a", "A", "é", "É", "ß", "\uff05", "\uff0f", "℀", "。", "\t", "\n",
    "\x00", "\x7f", "'", '"', "<", "~", "!", "a=1", "b=", "=2", "&&", "{", "\ud800", "a.example",
]  # fmt: skip
texts = st.builds(
    lambda begin, tokens: begin + "".join(tokens),
    st.sampled_from(["", "http://", "https://a.example/", "//h", "http://u@h:1/?"]),
    st.lists(st.sampled_from(TOKENS), max_size=8),
)
given_urls = st.one_of(
    texts,
    texts.map(lambda text: text.encode("utf-8", "surrogatepass")),
    texts.map(lambda text: text.encode("utf-8", "surrogatepass") + b"\xe9\xff"),
)


def outcome(function: object, *words: object, **named: object) -> object:
    """Return a result, or that there is none."""
    try:
        return function(*words, **named)  # type: ignore[operator]
    except ValueError:
        return ValueError


options = st.fixed_dictionaries(
    {},
    optional={
        "keep_blank_values": st.booleans(),
        "keep_fragments": st.booleans(),
        "encoding": st.sampled_from([None, "latin-1", "cp1252", "utf-8"]),
    },
)


@given(given_urls, options)
@settings(max_examples=tries(3.0))
@example("http://a.example/%2f%3b%3f%25", {})
@example("http://a.example/../../b/./", {})
@example("foo:/a;b?c", {"keep_fragments": True})
@example("http://a.example/?b&a=&=c", {"keep_blank_values": False})
def test_the_canonical_form_of_w3lib(url: str | bytes, given_options: dict[str, object]) -> None:
    expected = outcome(w3lib.url.canonicalize_url, url, **given_options)
    assert outcome(canonicalize_url, url, **given_options) == expected


def test_the_fingerprint_of_scrapy() -> None:
    scrapy = pytest.importorskip("scrapy", reason="needs Scrapy")
    request = pytest.importorskip("scrapy.utils.request", reason="needs Scrapy")
    for url in ("http://A.example/b?c=1&a=%7e#d", "http://a.example/é", "https://a.example/%2f"):
        assert fingerprint(url) == request.fingerprint(scrapy.Request(url)).hex()


@pytest.mark.parametrize(
    "url",
    ["http://www2.A.example:80/B//c/?b=1&a=2&PHPSESSID=0123456789abcdef0123456789abcdef",
     "https://a.example/%2541", "http://1.2.3.4/", "http://a.example/?"],
)  # fmt: skip
def test_the_surt_of_archives(url: str) -> None:
    assert surt(url) == their_surt.surt(url)


def test_what_no_browser_requests_has_no_surt() -> None:
    with pytest.raises(InvalidURL):
        surt("http://[")


def test_the_map_from_old_keys_to_new(tmp_path: Path) -> None:
    file = tmp_path / "urls.txt"
    urls = [
        "http://a.example/?b=1&a=2",
        "http://a.example/?a=2&b=1",
        "http://a.example/?utm_source=x",
        "http://[refused",
        "",
    ]
    file.write_text("\n".join(urls))
    run = CliRunner()
    done = run.invoke(main, ["migrate", str(file), "--from", "w3lib"])
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [row[:2] for row in rows] == [
        ["http://a.example/?a=2&b=1", "http://a.example/?b=1&a=2"],
        ["http://a.example/?a=2&b=1", "http://a.example/?a=2&b=1"],
        ["http://a.example/?utm_source=x", "http://a.example/"],
    ]
    assert all(len(row[2]) == 32 for row in rows)
    assert [row[3] for row in rows] == urls[:3]
    assert [row[4] for row in rows] == urls[:3]
    assert "3 URLs mapped, 1 refused, 0 blank" in done.stderr
    assert f"{file}:4: {urls[3]}" in done.stderr
    out = tmp_path / "map.jsonl"
    done = run.invoke(
        main, ["migrate", str(file), "--from", "scrapy", "--policy", "search", "-o", str(out)]
    )
    assert (done.exit_code, done.stdout) == (0, "")
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert len({record["old"] for record in records}) == 2
    assert records[0]["new"] == records[1]["new"] == "http://a.example/?a=2&b=1"
    assert records[0]["old"] == fingerprint(urls[0])
    done = run.invoke(main, ["migrate", str(file), "--from", "surt", "--format", "csv"])
    assert done.stdout.startswith('old,new,key,url,text\n"example,a)/?a=2&b=1",http')
    assert run.invoke(main, ["migrate", str(file)]).exit_code == 2


def test_a_map_with_rows_is_not_emptied(tmp_path: Path) -> None:
    file, out = tmp_path / "urls", tmp_path / "map.csv"
    words = ["migrate", str(file), "--from", "surt", "-o", str(out)]
    run = CliRunner()
    file.write_text("http://a.example/\n")
    assert run.invoke(main, words).exit_code == 0
    before = out.read_bytes()
    file.write_text("\n")
    done = run.invoke(main, words)
    assert (done.exit_code, out.read_bytes()) == (1, before)
    assert "it has content, and the new output has none, so it stays" in done.output
    out.unlink()
    assert run.invoke(main, words).exit_code == 0
    assert out.read_text() == "old,new,key,url,text\n"


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Return a function that runs ``migrate`` in a folder with two files."""
    monkeypatch.chdir(tmp_path)
    Path("own.csv").write_text("id,key,url\n1,k1,http://a.example/\n")
    Path("words.txt").write_text("word\n\n")
    return lambda words: CliRunner().invoke(main, ["migrate", *words.split()])


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ("words.txt --from w3lib", 1, "no line is a URL;"),
        ("own.csv --from w3lib --column key", 1, "no line is a URL;"),
        ("own.csv --from w3lib --column ur", 2, "did you mean --column url?"),
        ("own.csv --from w3lib --input cdx --column url", 2, "--column: cdx has none"),
    ],
)
def test_what_cannot_be_mapped_is_told(
    told: Callable[..., Result], words: str, code: int, sentence: str
) -> None:
    done = told(words)
    assert (done.exit_code, sentence in done.stderr) == (code, True), done.stderr


def test_where_no_line_is_a_url_the_output_stays(told: Callable[..., Result]) -> None:
    Path("good.csv").write_text("of before\n", encoding="utf-8")
    assert told("words.txt --from w3lib -o good.csv").exit_code == 1
    assert Path("good.csv").read_text(encoding="utf-8") == "of before\n"

"""THE table of formats: what files of URLs look like, and where in them the URLs stand.

A format is told by a file's first bytes, never by its name. Formats of lines say what to take of
each line; the others are read record by record.
"""

import csv
import io
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from canonry.crawler.compression import Stream
from canonry.crawler.documents import feeds
from canonry.crawler.files.lines import LONGEST
from canonry.crawler.settings import SettingsError
from canonry.extras import require

HEAD = 4096  # bytes that are looked at

Pick = Callable[[bytes], bytes | None]  # from a line to its URL; None: it has none, or is broken


class Lines(NamedTuple):
    """A format of which every line is a record."""

    looks: Callable[[bytes], bool]
    pick: Callable[[bytes, str | None], tuple[Pick, bool]]  # whether the first line is names only
    takes_column: bool = False
    is_plain: bool = False  # the line is the URL


class Records(NamedTuple):
    """A format that is read as a whole."""

    looks: Callable[[bytes], bool]
    read: Callable[[Stream, str | None], Iterator[bytes | None]]
    takes_column: bool = False


def _first_line(head: bytes) -> bytes:
    return head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].rstrip(b"\r")


def _place(names: list[str], column: str) -> int:
    """Return where a column stands.

    Raises:
        OSError: naming the columns that there are.
    """
    if column in names:
        return names.index(column)
    shown = ", ".join(names[:20])
    raise OSError(f"no column {column!r}; it has {shown}")


def _of_tsv(first: bytes, column: str | None) -> tuple[Pick, bool]:
    """Take a column, by its number or by its name in the first line."""
    wanted = column or "1"
    named = not wanted.isdecimal()
    names = [name.decode("utf-8", "replace") for name in first.split(b"\t")]
    place = _place(names, wanted) if named else int(wanted) - 1

    def pick(line: bytes) -> bytes | None:
        fields = line.split(b"\t", place + 1)
        return fields[place] if place < len(fields) else (None if line else b"")

    return pick, named


def _of_jsonl(_first: bytes, column: str | None) -> tuple[Pick, bool]:
    """Take a key's value; dots lead into objects."""
    *outer, last = (column or "url").split(".")
    inner: type = msgspec.defstruct("Record", [("url", str)], rename={"url": last})
    for name in reversed(outer):
        inner = msgspec.defstruct("Record", [("url", inner)], rename={"url": name})
    decode: Callable[[bytes], Any] = msgspec.json.Decoder(inner).decode

    def pick(line: bytes) -> bytes | None:
        if not line or line.isspace():
            return b""
        try:
            found: Any = decode(line)
            while not isinstance(found, str):
                found = found.url
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        return _utf8(found)

    return pick, False


def _utf8(text: str) -> bytes | None:
    """Return a text as bytes; half of a surrogate pair, which JSON can write, is no text."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


_CDX_HEAD = re.compile(rb"(?P<mark>[ \t])CDX(?P<letters>(?:(?P=mark)[a-zA-Z])+)\s*")
_CDX = re.compile(rb"\S+ [0-9]{14} \S+ \S+ \S+ \S+ \S+")
_CDXJ = re.compile(rb"\S+ [0-9]{1,17} \{")


def _of_cdx(first: bytes, _column: str | None) -> tuple[Pick, bool]:
    """Take the original URL: the field "a" of the legend, the third where there is none."""
    legend = _CDX_HEAD.fullmatch(first)
    mark, place = b" ", 2
    if legend:
        mark = legend["mark"]
        letters = legend["letters"].replace(mark, b"")
        if b"a" not in letters:
            raise OSError("its legend names no field 'a', the original URL")
        place = letters.index(b"a")

    def pick(line: bytes) -> bytes | None:
        if _CDX_HEAD.fullmatch(line):
            return b""  # files were joined
        fields = line.split(mark, place + 1)
        return fields[place] if place < len(fields) else (None if line else b"")

    return pick, legend is not None


def _of_cdxj(_first: bytes, _column: str | None) -> tuple[Pick, bool]:
    """Take the key "url" of the JSON behind a line's key and timestamp."""
    of_json = _of_jsonl(b"", None)[0]

    def pick(line: bytes) -> bytes | None:
        if line.startswith(b"!"):  # !OpenWayback-CDXJ 1.0, !meta
            return b""
        start = line.find(b" {")
        return of_json(line[start + 1 :]) if start >= 0 else (None if line else b"")

    return pick, False


def _of_lines(_first: bytes, _column: str | None) -> tuple[Pick, bool]:
    return (lambda line: line), False


def _read_csv(stream: Stream, column: str | None) -> Iterator[bytes | None]:
    """Yield a column, by its number or by its name in the first row (RFC 4180)."""
    csv.field_size_limit(LONGEST)
    buffered = io.BufferedReader(stream)
    text = io.TextIOWrapper(buffered, "utf-8-sig", "surrogateescape", newline="")
    rows = csv.reader(text)
    wanted = column or "1"
    place = int(wanted) - 1 if wanted.isdecimal() else _place(next(rows, []), wanted)
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error:
            yield None
            continue
        if row:
            yield row[place].encode("utf-8", "surrogateescape") if place < len(row) else None


def _read_parquet(stream: Stream, column: str | None) -> Iterator[bytes | None]:
    """Yield a column of strings; without a name "url", or the only one that there is."""
    require("arrow", "Parquet")
    import pyarrow as pa  # noqa: PLC0415 - optional
    from pyarrow import parquet  # noqa: PLC0415 - optional

    with tempfile.TemporaryFile() as spool:
        file = stream.source
        if not (isinstance(file, io.BufferedReader) and file.seekable()):  # packed, or a pipe
            shutil.copyfileobj(stream, spool)
            file = spool
        file.seek(0)
        try:
            table = parquet.ParquetFile(file)
            names = [f.name for f in table.schema_arrow if _is_text(pa, f.type)]
            wanted = column or (names[0] if len(names) == 1 else "url")
            _place(names, wanted)
            for batch in table.iter_batches(columns=[wanted]):
                yield from batch.column(0).cast(pa.large_binary()).to_pylist()
        except (pa.ArrowException, ValueError) as error:
            raise OSError(str(error).partition("\n")[0]) from None


def _is_text(pa: Any, kind: Any) -> bool:  # noqa: ANN401 - pyarrow ships no types
    """Say whether a column's values are strings or bytes."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    checks = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    return any(getattr(pa.types, f"is_{name}")(kind) for name in checks)


_CAPTURES = frozenset({"response", "resource", "revisit"})


def _read_warc(stream: Stream, _column: str | None) -> Iterator[bytes | None]:
    """Yield the target of each capture, redirects among them (ISO 28500)."""
    require("warc", "WARC")
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415 - optional
    from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415 - optional

    try:
        for record in ArchiveIterator(io.BufferedReader(stream), no_record_parse=True):
            if record.rec_type in _CAPTURES:
                target = record.rec_headers.get_header("WARC-Target-URI")
                yield target.strip("<>").encode("utf-8", "surrogateescape") if target else None
    except ArchiveLoadFailed as error:
        raise OSError(str(error)) from None


def _read_sitemap(stream: Stream, _column: str | None) -> Iterator[bytes | None]:
    """Yield what ``loc`` says of each page and sitemap (sitemaps.org); no entity is expanded."""
    reader = feeds.FeedReader()
    try:
        while part := stream.read1(1 << 20):
            yield from (_utf8(one.reference) for one in reader.feed(part))
        reader.feed(b"", last=True)
    except OSError:
        yield from (_utf8(one.reference) for one in reader.take())
        raise


FORMATS: dict[str, Lines | Records] = {
    "parquet": Records(lambda head: head.startswith(b"PAR1"), _read_parquet, takes_column=True),
    "warc": Records(lambda head: head.startswith(b"WARC/"), _read_warc),
    "sitemap": Records(
        lambda head: (
            re.search(rb"<(?:\w+:)?(?:urlset|sitemapindex)\b", head) is not None
            and head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<")
        ),
        _read_sitemap,
    ),
    "cdx": Lines(
        lambda head: bool(_CDX_HEAD.fullmatch(_first_line(head)) or _CDX.match(_first_line(head))),
        _of_cdx,
    ),
    "cdxj": Lines(
        lambda head: (
            head.startswith(b"!OpenWayback-CDXJ") or _CDXJ.match(_first_line(head)) is not None
        ),
        _of_cdxj,
    ),
    "jsonl": Lines(
        lambda head: re.match(rb'\s*\{\s*"', _first_line(head)) is not None,
        _of_jsonl,
        takes_column=True,
    ),
    "tsv": Lines(lambda head: b"\t" in _first_line(head), _of_tsv, takes_column=True),
    "csv": Records(lambda _head: True, _read_csv, takes_column=True),
    "lines": Lines(lambda _head: True, _of_lines, is_plain=True),
}


class Form(NamedTuple):
    """What is known of files before they are looked at."""

    name: str | None = None  # of a format; None: to be told by content
    column: str | None = None  # name, or number from 1 on

    def find(self, head: bytes) -> Lines | Records:
        """Return the format of a file by its first bytes.

        Columns of text are looked for only where one was asked for.
        """
        if self.name is not None:
            return FORMATS[self.name]
        for name, form in FORMATS.items():
            plain = name in {"tsv", "csv"} and self.column is None
            if not plain and form.looks(head):
                return form
        return FORMATS["lines"]

    def check(self) -> None:
        """Refuse a column where there can be none.

        Raises:
            SettingsError: naming the formats that have columns.
        """
        if self.column is not None and self.name and not FORMATS[self.name].takes_column:
            allowed = ", ".join(name for name, form in FORMATS.items() if form.takes_column)
            raise SettingsError(f"--column: {self.name} has none; these have: {allowed}")
        if self.column == "0":
            raise SettingsError("--column 0: columns are counted from 1 on")


ANY = Form()

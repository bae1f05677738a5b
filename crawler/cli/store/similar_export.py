"""Near-duplicates for ``export``: which WARC files are read, and what is said about them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from canonry.crawler.cli.terminal import render
from canonry.crawler.compression import decompressed
from canonry.crawler.files import inputs, tables
from canonry.crawler.locations import is_remote, opened, version_of
from canonry.crawler.plurals import counted
from canonry.crawler.settings import SettingsError
from canonry.storage import StoreError
from canonry.storage.reading import report

if TYPE_CHECKING:
    from canonry.crawler.files.captures import Capture
    from canonry.crawler.similar.near_duplicates import NearDuplicates, SimilarPage
    from canonry.crawler.similar.page_texts import PageTexts

_WARC = re.compile(r"\.warc(\.(gz|bz2|xz|zst))?(\.open)?$")
_ZSTD = b"\x28\xb5\x2f\xfd"


def warc_files(what: str, store: str, warc: Sequence[str], least: float | None) -> list[str]:
    """Return the WARC files that an export reads; none if it is not of similar pages.

    Args:
        what: is exported.
        store: a path or a SQLAlchemy URL, which is only opened if it is needed.
        warc: files and folders; if there are none, those of the store's last crawl count.
        least: the smallest score, if the user gave one.

    Raises:
        SettingsError: if there are none, or the options do not go together.
        StoreError: if the store is needed, and cannot be read.
    """
    if what != "similar":
        if warc or least is not None:
            option = "--warc" if warc else "--least"
            raise SettingsError(f"{option}: this is for similar pages, not for {what}")
        return []
    files: list[str] = []
    for place in list(warc) or [_folder_of_last_crawl(store)]:
        found = inputs.expand([place])
        if place not in found:  # of folders and patterns, what else is there is left out
            found = [name for name in found if _WARC.search(name)]
        if not found:
            raise SettingsError(f"--warc {place}: no WARC file in it")
        files += found
    return list(dict.fromkeys(files))


def _folder_of_last_crawl(store: str) -> str:
    """Return the folder with the WARC files of a store's last crawl.

    Raises:
        SettingsError: if it has written none, or they are not there.
        StoreError: if the store cannot be read.
    """
    from canonry.crawler.inquiry.last_crawl import last_crawl  # noqa: PLC0415 - loads the admission

    try:
        with report.reading(store) as connection:
            crawl = last_crawl(connection)
    except StoreError as error:
        raise StoreError(f"{error}; without a store, name WARC files with --warc") from None
    folder = "" if crawl is None else crawl.settings.crawl.warc
    if not folder:
        raise SettingsError(
            "similar: a store keeps no text of pages, and its last crawl wrote no WARC files; "
            "record the crawl with --warc DIR, or name files with --warc"
        )
    if not is_remote(folder) and not Path(folder).is_dir():
        raise SettingsError(
            f"similar: the last crawl wrote its WARC files to {folder}, which is not there; "
            "name them with --warc"
        )
    return folder


@contextmanager
def similar_pages(
    files: Sequence[str], least: float | None
) -> Iterator[tuple[Iterator["SimilarPage"], Mapping[str, type], None]]:
    """Find the near-duplicates in WARC files; return their rows and columns.

    The last value is the reader of a store, which there is none of.
    """
    from canonry.crawler.similar import near_duplicates, page_texts  # noqa: PLC0415 - load NumPy

    columns = tables.column_types(near_duplicates.SimilarPage)
    with closing(page_texts.PageTexts()) as texts:
        broken = _read(files, texts)
        least = near_duplicates.LEAST if least is None else least
        with render.row_progress("compare") as progress:
            found = near_duplicates.find(texts, least, progress)
        yield found.rows, columns, None
        short = f"fewer than {page_texts.LEAST_WORDS} words of their own"
        render.notify("; ".join(_phrases(found, len(files), broken, short)))


def _read(files: Sequence[str], texts: "PageTexts") -> int:
    """Read WARC files; return how many records were broken."""
    broken = 0
    total = sum(version_of(name)[0] or 0 for name in files)
    with render.byte_progress(total, "read") as advance:
        for name in files:
            for capture in _captures(name, advance):
                broken += not capture.status
                texts.add(capture)
    texts.finish()
    return broken


def _captures(name: str, advance: Callable[[int], None]) -> Iterator["Capture"]:
    """Yield the captures of a WARC file; one without a status is broken."""
    from canonry.crawler.files import captures  # noqa: PLC0415 - loads what reads Parquet

    place = 0
    try:
        with opened(name) as file:
            for capture in captures.read_warc(_source(file)):
                yield capture
                advance(file.tell() - place)
                place = file.tell()
    except OSError as error:
        told = error.strerror or error
        render.notify(f"canonry: {name}: breaks off ({told}); what is before that counts")
        yield captures.Capture(0, "", "")


def _source(file: IO[bytes]) -> Any:  # noqa: ANN401 - a file, or what reads like one
    """Return a file as warcio reads it: it knows gzip by record, but no zst."""
    head = file.peek(len(_ZSTD))  # type: ignore[attr-defined]  # a buffered file has it
    return decompressed(file) if head.startswith(_ZSTD) else file


def _phrases(found: "NearDuplicates", files: int, broken: int, short: str) -> Iterator[str]:
    """Yield what there is to say."""
    groups = counted(found.groups, "group")
    yield (
        f"{counted(found.pages, 'page')} in {counted(files, 'file')}: "
        f"{groups} of near-duplicates, with {counted(found.in_groups, 'page')}"
    )
    if found.short:
        yield f"{found.short:,} not compared, with {short}"
    if found.unread:
        yield f"{found.unread:,} without a body in these files, or with one that cannot be read"
    if broken:
        yield f"{counted(broken, 'broken record')} left out"

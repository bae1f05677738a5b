"""Near-duplicates for ``export``: which WARC files are read, and what is said about them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from canonry.crawler.cli.terminal import render
from canonry.crawler.compression import decompressed, naming_file
from canonry.crawler.files import captures, inputs, tables
from canonry.crawler.inquiry.last_crawl import last_crawl
from canonry.crawler.locations import is_remote, opened, version_of
from canonry.crawler.plurals import counted
from canonry.crawler.settings import SettingsError
from canonry.crawler.similar import near_duplicates
from canonry.crawler.similar.page_texts import LEAST_WORDS, PageTexts
from canonry.extras import require
from canonry.storage.reading import report

_WARC = re.compile(r"\.warc(\.(gz|bz2|xz|zst))?(\.open)?$")
_ZSTD = b"\x28\xb5\x2f\xfd"


def warc_files(warc: Sequence[str], store: str) -> list[str]:
    """Return the WARC files to read.

    Args:
        warc: files and folders; if there are none, those of the store's last crawl count.
        store: a path or a SQLAlchemy URL, which is only opened if it is needed.

    Raises:
        SettingsError: if there are none.
        StoreError: if the store is needed, and cannot be read.
    """
    require("warc", "export similar")
    places = list(warc) or [_folder_of_last_crawl(store)]
    files: list[str] = []
    for place in places:
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
    """
    with report.reading(store) as connection:
        crawl = last_crawl(connection)
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
) -> Iterator[tuple[Iterator[near_duplicates.SimilarPage], Mapping[str, type]]]:
    """Find the near-duplicates in WARC files; return their rows, and the columns."""
    least = near_duplicates.LEAST if least is None else least
    columns = tables.column_types(near_duplicates.SimilarPage)
    with closing(PageTexts()) as texts:
        broken = _read(files, texts)
        with render.row_progress("compare") as progress:
            found = near_duplicates.find(texts, least, progress)
        yield found.rows, columns
        render.notify("; ".join(_phrases(found, len(files), broken)))


def _read(files: Sequence[str], texts: PageTexts) -> int:
    """Read WARC files; return how many records were broken."""
    broken = 0
    with ExitStack() as stack:
        total = sum(version_of(name)[0] or 0 for name in files)
        advance = stack.enter_context(render.byte_progress(total, "read"))
        for name in files:
            try:
                broken += _read_file(name, texts, advance)
            except OSError as error:
                broken += 1
                render.notify(f"canonry: {name}: breaks off ({error}); what is before that counts")
    texts.finish()
    return broken


def _read_file(name: str, texts: PageTexts, advance: Any) -> int:  # noqa: ANN401 - takes bytes
    """Read a WARC file; return how many records were broken."""
    broken = place = 0
    with naming_file(name), opened(name) as file:
        head = file.peek(len(_ZSTD))  # type: ignore[attr-defined]  # a buffered file has it
        source: Any = decompressed(file) if head.startswith(_ZSTD) else file
        for capture in captures.read_warc(source):
            broken += not capture.status
            texts.add(capture)
            advance(file.tell() - place)
            place = file.tell()
    return broken


def _phrases(found: near_duplicates.NearDuplicates, files: int, broken: int) -> Iterator[str]:
    """Yield what there is to say."""
    groups = counted(found.groups, "group")
    yield (
        f"{counted(found.pages, 'page')} in {counted(files, 'file')}: "
        f"{groups} of near-duplicates, with {counted(found.in_groups, 'page')}"
    )
    if found.short:
        yield f"{found.short:,} not compared, with fewer than {LEAST_WORDS} words of their own"
    if found.unread:
        yield f"{found.unread:,} without a body in these files, or with one that cannot be read"
    if broken:
        yield f"{counted(broken, 'broken record')} left out"

"""WARC files (ISO 28500) with every request and response of a crawl, each with its index.

The client returns decoded bodies. So headers that describe the transfer get the prefix
``X-Crawler-``, as at Common Crawl, and ``Content-Length`` is the length of the decoded body.
"""

import asyncio
import os
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from canonry import __title__
from canonry.canon import redact
from canonry.crawler.compression import GzipMembers
from canonry.crawler.fetch.response import Get, Response
from canonry.crawler.observe.cdxj import CdxjIndex
from canonry.crawler.observe.exchange_records import (
    VERSION,
    Written,
    named,
    payload_digest,
    records_of,
)
from canonry.crawler.observe.unfinished_warc import UNFINISHED, finish
from canonry.crawler.owned_files import owned
from canonry.crawler.settings import SettingsError
from canonry.storage import StoreError

_SPECIFICATION = "https://iipc.github.io/warc-specifications/specifications/warc-format"
# After so many bytes, or responses, the next file begins.
_LARGEST, _MOST_RECORDS = 1 << 30, 200_000
_GATHERED = 0.003  # seconds for which responses wait for others
_REMEMBERED = 100_000  # digests kept to recognize repeated bodies


class WarcArchive:
    """Writes requests and responses to WARC files in a folder, in its own thread."""

    def __init__(self, folder: str, agent: str) -> None:
        """Create the folder; the first response creates a file.

        Args:
            folder: the folder, created if needed.
            agent: the user agent, for the warcinfo record.

        Raises:
            SettingsError: if the folder cannot be written.
        """
        self._folder = Path(folder)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"--warc {folder}: {error.strerror}") from None
        if not os.access(self._folder, os.W_OK):
            raise SettingsError(f"--warc {folder}: it cannot be written")
        self._agent = agent
        self._thread = ThreadPoolExecutor(1, "canonry-warc")
        self._waiting: list[tuple[Response, asyncio.Future[None]]] = []
        self._under_way = 0  # requests that have no response yet
        self._writing: asyncio.Task[None] | None = None
        self._file: IO[bytes] | None = None
        self._writer: Any = None
        self._number = 0
        self._began = f"{time.strftime('%Y%m%d%H%M%S', time.gmtime())}-{os.getpid()}"
        self._written: OrderedDict[bytes, Written] = OrderedDict()

    async def write(self, response: Response) -> None:
        """Write a response and its request; when this returns, they are in the file.

        Raises:
            StoreError: if the file cannot be written.
        """
        written = asyncio.get_running_loop().create_future()
        self._waiting.append((response, written))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_waiting())
        await written

    async def _write_waiting(self) -> None:
        """Write what waits: all of it at once, and what comes within a moment.

        Each switch to the thread costs time, and so does the thread itself while it competes with
        the loop for the interpreter's lock: measured, a fifth of the crawl.
        """
        loop = asyncio.get_running_loop()
        while self._waiting:
            if self._under_way:
                await asyncio.sleep(_GATHERED)
            some, self._waiting = self._waiting, []
            fault: Exception | None = None
            try:
                responses = [response for response, _written in some]
                await loop.run_in_executor(self._thread, self._write_all, responses)
            except OSError as error:
                fault = StoreError(f"--warc {self._folder}: {error.strerror or error}")
            except Exception as error:  # noqa: BLE001 - those who wait raise it
                fault = error
            for _response, written in some:
                if written.done():  # whoever waited was cancelled
                    continue
                if fault is None:
                    written.set_result(None)
                else:
                    written.set_exception(fault)
        self._writing = None

    def archiving(self, get: Get) -> Get:
        """Wrap a function that fetches a URL, so that its responses are archived."""

        async def fetch(
            url: str,
            cookies: Mapping[str, str] | None = None,
            headers: Mapping[str, str] | None = None,
            /,
        ) -> Response:
            self._under_way += 1
            try:
                response = await get(url, cookies, headers)
            finally:
                self._under_way -= 1
            await self.write(response)
            return response

        return fetch

    def close(self) -> None:
        """Close the last file, and give it its final name."""
        self._thread.submit(self._end_file).result()
        self._thread.shutdown()

    def _write_all(self, responses: Iterable[Response]) -> None:
        """Write responses, and pass them to the system."""
        for response in responses:
            self._write(response)
        if self._file is not None:
            self._file.flush()

    def _write(self, response: Response) -> None:
        """Write the records of a response; a body that was written before becomes a revisit."""
        self._begin_file()
        date = self._writer.curr_warc_date()
        digest = payload_digest(response.body)
        before = self._written.pop(digest, None) if response.body else None
        self._written[digest] = before or Written(redact(response.url), date)
        while len(self._written) > _REMEMBERED:
            self._written.popitem(last=False)
        assert self._file is not None  # noqa: S101 - it was opened above
        answer, request = records_of(self._writer, response, digest, date, before)
        offset = self._file.tell()
        self._writer.write_record(answer)
        place = (offset, self._file.tell() - offset)
        self._index.add(response, named(digest), date, place, revisit=before is not None)
        self._writer.write_record(request)
        if self._file.tell() > _LARGEST or len(self._index) >= _MOST_RECORDS:
            self._end_file()

    def _begin_file(self) -> None:
        """Open a file, named ``.open`` until it is complete, and write its warcinfo record."""
        from warcio.warcwriter import WARCWriter  # noqa: PLC0415 - see `__init__`

        if self._file is not None:
            return
        while self._file is None:
            self._number += 1
            name = f"{__title__}-{self._began}-{self._number:05}.warc.gz"
            self._path = self._folder / f"{name}{UNFINISHED}"
            if not self._path.exists() and not (self._folder / name).exists():
                with suppress(BlockingIOError):  # another machine began one of this name
                    self._file = owned(self._path)
        self._index = CdxjIndex(name)
        # warcio's own gzip takes four times as long, for files that are a sixth smaller.
        self._writer = WARCWriter(GzipMembers(self._file), gzip=False, warc_version=VERSION)
        about = {
            "software": self._agent,
            "format": f"WARC File Format {VERSION}",
            "conformsTo": f"{_SPECIFICATION}/warc-{VERSION}/",
        }
        self._writer.write_record(self._writer.create_warcinfo_record(name, about))

    def _end_file(self) -> None:
        """Close a file, and give it its final name."""
        if self._file is not None:
            with self._file as file:  # locked until it has its name
                self._file = None
                finish(file, self._path, self._index)

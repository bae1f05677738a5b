"""WARC: every exchange of a crawl, kept as ISO 28500 has it, for other tools to read.

The client gives bodies decoded. So the headers that spoke of the transfer are kept under names with
``X-Crawler-`` before them, as Common Crawl does, and ``Content-Length`` is that of the body.
"""

import asyncio
import hashlib
import io
import os
import time
from base64 import b32encode
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, NamedTuple

from canonry.canon import parse, redact
from canonry.crawler.fetch.response import Get, Response
from canonry.crawler.settings import SettingsError
from canonry.extras import require
from canonry.storage import StoreError

_SPECIFICATION = "https://iipc.github.io/warc-specifications/specifications/warc-format"
_LARGEST = 1 << 30  # bytes of a file, after which the next begins
_REMEMBERED = 100_000  # bodies that are known when they come again
_OF_THE_TRANSFER = frozenset({"content-encoding", "transfer-encoding", "content-length"})
_SECRET = frozenset({"authorization", "cookie"})


class _Seen(NamedTuple):
    """Where a body was kept."""

    url: str
    date: str


class Archive:
    """Writes exchanges to WARC files in a folder, from a thread of its own."""

    def __init__(self, folder: str, agent: str) -> None:
        """Prepare; a file is made when there is something to keep.

        Args:
            folder: is made where it is not there.
            agent: the user agent, for the file's own description.

        Raises:
            MissingExtraError: if warcio is not installed.
            SettingsError: if the folder cannot be written.
        """
        require("warc", "--warc")
        self._folder = Path(folder)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"--warc {folder}: {error.strerror}") from None
        if not os.access(self._folder, os.W_OK):
            raise SettingsError(f"--warc {folder}: it cannot be written")
        self._agent = agent
        self._thread = ThreadPoolExecutor(1, "canonry-warc")
        self._file: IO[bytes] | None = None
        self._writer: Any = None
        self._number = 0
        self._began = f"{time.strftime('%Y%m%d%H%M%S', time.gmtime())}-{os.getpid()}"
        self._seen: OrderedDict[bytes, _Seen] = OrderedDict()
        self.records = 0

    async def keep(self, response: Response) -> None:
        """Write down an exchange; when this returns, the file has it.

        Raises:
            StoreError: when the disk fails.
        """
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._thread, self._keep, response)
        except OSError as error:
            raise StoreError(f"--warc {self._folder}: {error.strerror or error}") from error

    def keeping(self, get: Get) -> Get:
        """Return what asks for URLs as another function does, and writes down what comes."""

        async def kept(
            url: str,
            cookies: Mapping[str, str] | None = None,
            headers: Mapping[str, str] | None = None,
            /,
        ) -> Response:
            response = await get(url, cookies, headers)
            await self.keep(response)
            return response

        return kept

    def close(self) -> None:
        """Give the last file its name."""
        self._thread.submit(self._end_file).result()
        self._thread.shutdown()

    def _keep(self, response: Response) -> None:
        from warcio.statusandheaders import StatusAndHeaders  # noqa: PLC0415 - see `__init__`

        self._begin_file()
        url, sent = redact(response.url), response.exchange
        date = self._writer.curr_warc_date()
        head = StatusAndHeaders(
            f"{response.status} {sent.reason}".strip(), _answered(response), "HTTP/1.1"
        )
        about = {"WARC-Date": date}
        if sent.address:
            about["WARC-IP-Address"] = sent.address
        digest = hashlib.sha1(response.body, usedforsecurity=False).digest()
        before = self._seen.pop(digest, None) if response.body else None
        if before is not None:
            record = self._writer.create_revisit_record(
                url,
                f"sha1:{b32encode(digest).decode()}",
                before.url,
                before.date,
                http_headers=head,
                warc_headers_dict=about,
            )
        else:
            body = io.BytesIO(response.body)
            record = self._writer.create_warc_record(
                url,
                "response",
                payload=body,
                length=len(response.body),
                http_headers=head,
                warc_headers_dict=about,
            )
        line = f"GET {_target(response.url)} HTTP/1.1"
        asked = StatusAndHeaders(line, _sent(response), is_http_request=True)
        request = self._writer.create_warc_record(
            url, "request", http_headers=asked, warc_headers_dict={"WARC-Date": date}
        )
        self._writer.write_request_response_pair(request, record)
        self._seen[digest] = before or _Seen(url, date)
        while len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        self.records += 1
        assert self._file is not None  # noqa: S101 - it was opened above
        self._file.flush()
        if self._file.tell() > _LARGEST:
            self._end_file()

    def _begin_file(self) -> None:
        """Open a file, and write into it what it is; it has ``.open`` behind its name meanwhile."""
        from warcio.warcwriter import WARCWriter  # noqa: PLC0415 - see `__init__`

        if self._file is not None:
            return
        self._number += 1
        self._name = f"canonry-{self._began}-{self._number:05}.warc.gz"
        self._file = (self._folder / f"{self._name}.open").open("xb")
        self._writer = WARCWriter(self._file, gzip=True, warc_version="1.1")
        about = {
            "software": self._agent,
            "format": "WARC File Format 1.1",
            "conformsTo": f"{_SPECIFICATION}/warc-1.1/",
        }
        self._writer.write_record(self._writer.create_warcinfo_record(self._name, about))

    def _end_file(self) -> None:
        """Give a file its name, now that it is whole."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None
            (self._folder / f"{self._name}.open").rename(self._folder / self._name)


def _answered(response: Response) -> list[tuple[str, str]]:
    """Return an answer's headers, as they fit its decoded body."""
    headers = [
        (f"X-Crawler-{name}" if name.lower() in _OF_THE_TRANSFER else name, value)
        for name, value in response.headers.items()
    ]
    return [*headers, ("Content-Length", str(len(response.body)))]


def _sent(response: Response) -> list[tuple[str, str]]:
    """Return the headers that were sent, without what is secret."""
    sent = response.exchange.request.items()
    return [(name, value) for name, value in sent if name.lower() not in _SECRET]


def _target(url: str) -> str:
    """Return a URL as it stands in a request line."""
    parts = parse(url)
    return (parts.path or "/") + ("" if parts.query is None else f"?{parts.query}")

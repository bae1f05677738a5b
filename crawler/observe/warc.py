"""WARC files (ISO 28500) with every request and response of a crawl.

The client returns decoded bodies. So headers that describe the transfer get the prefix
``X-Crawler-``, as at Common Crawl, and ``Content-Length`` is the length of the decoded body.
"""

import asyncio
import hashlib
import io
import os
import time
from base64 import b32encode
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, NamedTuple

from canonry.canon import parse, redact
from canonry.crawler.compression import GzipMembers
from canonry.crawler.fetch.faults import Fault
from canonry.crawler.fetch.response import Get, Response
from canonry.crawler.settings import SettingsError
from canonry.crawler.settings.header_lines import is_secret
from canonry.extras import require
from canonry.storage import StoreError

_SPECIFICATION = "https://iipc.github.io/warc-specifications/specifications/warc-format"
_LARGEST = 1 << 30  # bytes; after that, the next file begins
_REMEMBERED = 100_000  # digests kept to recognize repeated bodies
_OF_THE_TRANSFER = frozenset({"content-encoding", "transfer-encoding", "content-length"})


class _Written(NamedTuple):
    """The record that has a body."""

    url: str
    date: str


class WarcArchive:
    """Writes requests and responses to WARC files in a folder, in its own thread."""

    def __init__(self, folder: str, agent: str) -> None:
        """Create the folder; the first response creates a file.

        Args:
            folder: the folder, created if needed.
            agent: the user agent, for the warcinfo record.

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
        self._waiting: list[tuple[Response, asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None
        self._file: IO[bytes] | None = None
        self._writer: Any = None
        self._number = 0
        self._began = f"{time.strftime('%Y%m%d%H%M%S', time.gmtime())}-{os.getpid()}"
        self._written: OrderedDict[bytes, _Written] = OrderedDict()

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
        """Write what waits: all of it at once, since each switch to the thread costs time."""
        loop = asyncio.get_running_loop()
        while self._waiting:
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
            response = await get(url, cookies, headers)
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
        self._begin_file()
        date = self._writer.curr_warc_date()
        request = self._request_record(response, date)
        self._writer.write_request_response_pair(request, self._response_record(response, date))
        assert self._file is not None  # noqa: S101 - it was opened above
        if self._file.tell() > _LARGEST:
            self._end_file()

    def _request_record(self, response: Response, date: str) -> Any:  # noqa: ANN401 - no types
        """Return the record of the request."""
        from warcio.statusandheaders import StatusAndHeaders  # noqa: PLC0415 - see `__init__`

        line = f"GET {_target(response.url)} HTTP/1.1"
        return self._writer.create_warc_record(
            redact(response.url),
            "request",
            http_headers=StatusAndHeaders(line, _request_headers(response), is_http_request=True),
            warc_headers_dict={"WARC-Date": date},
        )

    def _response_record(self, response: Response, date: str) -> Any:  # noqa: ANN401 - no types
        """Return the record of the response; of a body that was written before, a revisit."""
        from warcio.statusandheaders import StatusAndHeaders  # noqa: PLC0415 - see `__init__`

        url, exchange = redact(response.url), response.exchange
        status = f"{response.status} {exchange.reason}".strip()
        head = StatusAndHeaders(status, _response_headers(response), "HTTP/1.1")
        about = {"WARC-Date": date}
        if response.unread is not None:
            too_long = response.unread.reason == Fault.TOO_LARGE.label
            about["WARC-Truncated"] = "length" if too_long else "unspecified"
        if exchange.address:
            about["WARC-IP-Address"] = exchange.address
        digest = hashlib.sha1(response.body, usedforsecurity=False).digest()
        before = self._written.pop(digest, None) if response.body else None
        self._written[digest] = before or _Written(url, date)
        while len(self._written) > _REMEMBERED:
            self._written.popitem(last=False)
        payload = f"sha1:{b32encode(digest).decode()}"
        if before is not None:
            return self._writer.create_revisit_record(
                url,
                payload,
                before.url,
                before.date,
                http_headers=head,
                warc_headers_dict=about,
            )
        return self._writer.create_warc_record(
            url,
            "response",
            payload=io.BytesIO(response.body),
            length=len(response.body),
            http_headers=head,
            warc_headers_dict={**about, "WARC-Payload-Digest": payload},
        )

    def _begin_file(self) -> None:
        """Open a file, named ``.open`` until it is complete, and write its warcinfo record."""
        from warcio.warcwriter import WARCWriter  # noqa: PLC0415 - see `__init__`

        if self._file is not None:
            return
        self._number += 1
        self._name = f"canonry-{self._began}-{self._number:05}.warc.gz"
        self._file = (self._folder / f"{self._name}.open").open("xb")
        # warcio's own gzip takes four times as long, for files that are a sixth smaller.
        self._writer = WARCWriter(GzipMembers(self._file), gzip=False, warc_version="1.1")
        about = {
            "software": self._agent,
            "format": "WARC File Format 1.1",
            "conformsTo": f"{_SPECIFICATION}/warc-1.1/",
        }
        self._writer.write_record(self._writer.create_warcinfo_record(self._name, about))

    def _end_file(self) -> None:
        """Close a file, and give it its final name."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None
            (self._folder / f"{self._name}.open").rename(self._folder / self._name)


def _response_headers(response: Response) -> list[tuple[str, str]]:
    """Return the headers of a response, adapted to its decoded body."""
    headers = [
        (f"X-Crawler-{name}" if name.lower() in _OF_THE_TRANSFER else name, value)
        for name, value in response.headers.items()
    ]
    return [*headers, ("Content-Length", str(len(response.body)))]


def _request_headers(response: Response) -> list[tuple[str, str]]:
    """Return the headers of the request, without secrets."""
    sent = response.exchange.request.items()
    return [(name, value) for name, value in sent if not is_secret(name)]


def _target(url: str) -> str:
    """Return the request target of a URL (RFC 9112 section 3.2.1)."""
    parts = parse(url)
    return (parts.path or "/") + ("" if parts.query is None else f"?{parts.query}")

"""Bodies of responses: which are read, and how far."""

from io import BytesIO

import aiohttp

from canonry.canon.syntax import to_text
from canonry.crawler.fetch.bodies.body_room import make_room
from canonry.crawler.fetch.bodies.request_time import RequestTime
from canonry.crawler.fetch.faults import Fault
from canonry.crawler.fetch.response import Unread
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.settings import FetchSettings
from canonry.crawler.settings.media_types import MediaTypes
from canonry.storage.http_status import NOT_MODIFIED, REDIRECTS


class BodyReader:
    """Reads bodies, unless their headers already say that they are not wanted."""

    def __init__(self, fetch: FetchSettings) -> None:
        """Bind the limits."""
        self._longest = fetch.max_body
        self._types = MediaTypes(fetch.only_types)

    async def read(
        self, response: aiohttp.ClientResponse, cut: int | None, time: RequestTime
    ) -> tuple[bytes, Unread | None]:
        """Read the body of a response; limits count decompressed bytes.

        Args:
            response: of which the head was read.
            cut: read no more than the beginning of any body: one that was cut has more than so many
                bytes. None reads the whole body, if it is wanted and not too long.
            time: of the request; it does not count how long a large body waits for room.

        Returns:
            The body; and why it was not read, or None.
        """
        if cut is None and (unread := self._unwanted(response)) is not None:
            response.close()
            return b"", unread
        body, size = b"", 0
        whole: BytesIO | None = None  # most bodies come in one piece, which is then not copied
        while part := await response.content.readany():
            size += len(part)
            if cut is None and size > self._longest:
                response.close()
                return b"", Unread(Fault.TOO_LARGE.label, f"over {self._longest:,} bytes")
            if size == len(part):
                body = part
            elif whole is None:
                whole = BytesIO()
                whole.writelines((body, part))
                body = b""
            else:
                whole.write(part)
            if cut is not None and size > cut:
                response.close()
                break
            await make_room(size, len(part), time)
        return body if whole is None else whole.getvalue(), None  # it shares the bytes

    def _unwanted(self, response: aiohttp.ClientResponse) -> Unread | None:
        """Return why a body need not be read, as far as the headers tell."""
        if response.status == NOT_MODIFIED:
            return None  # its headers are about a body that we have
        content_type = response.headers.get("Content-Type")
        if response.ok and response.status not in REDIRECTS and content_type not in self._types:
            return Unread(HoldReason.OTHER_TYPE.label, to_text(content_type or ""))
        length = response.content_length
        if length is not None and length > self._longest:
            return Unread(Fault.TOO_LARGE.label, f"{length:,} bytes")
        return None

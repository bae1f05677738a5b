"""Raw servers for tests, on loopback: they send any bytes and keep what was requested."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Answer = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Raw:
    """A running server: its port, and the heads of the requests that it received."""

    port: int = 0
    heads: list[bytes] = field(default_factory=list)

    @property
    def lines(self) -> list[bytes]:
        """Return the request lines."""
        return [head.partition(b"\r\n")[0] for head in self.heads]


def ok(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """Return a response with a body and its length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


@asynccontextmanager
async def raw_server(
    answer: Callable[[bytes], Answer], tls: ssl.SSLContext | None = None
) -> AsyncIterator[Raw]:
    """Serve on a free port.

    Args:
        answer: gets the head of a request; returns the bytes to send, or a function that sends
            them, after which the connection is closed.
        tls: where the server speaks TLS.
    """
    raw = Raw()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                raw.heads.append(head)
                given = answer(head)
                if isinstance(given, bytes):
                    writer.write(given)
                    await writer.drain()
                else:
                    await given(writer)
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    raw.port = server.sockets[0].getsockname()[1]
    try:
        yield raw
    finally:
        server.close()
        await server.wait_closed()

"""A server that knows when requests were sent: on loopback, Linux stamps their bytes then.

A server that looks at a clock itself, in any process, does so when its process gets a processor.
"""

import json
import selectors
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import IO, NamedTuple

_HOSTS = 4
_PAGES = 3
_SO_TIMESTAMPNS = 35  # of Linux; the module socket does not know it
_TIMESPEC = struct.Struct("@qq")  # seconds and nanoseconds
_TRIES, _PAUSE = 100, 0.01  # until the kernel stamps; it begins a moment after it was asked to


class Arrival(NamedTuple):
    """A request: when it was sent, in seconds since 1970, its host and its target."""

    at: float
    host: str
    target: str


class Stamping:
    """A running server. Its first page links to three pages on each of four hosts.

    Attributes:
        port: where it listens.
        is_exact: False if this kernel stamps nothing, so that times are those of the reading.
    """

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        port, exact = _line(process.stdout).split()
        self.port, self.is_exact = int(port), exact == "True"

    def arrivals(self) -> list[Arrival]:
        """Return what arrived so far, in its order."""
        assert self._process.stdin is not None
        print(file=self._process.stdin, flush=True)
        return [Arrival(*given) for given in json.loads(_line(self._process.stdout))]

    def shortest(self, host: str) -> float:
        """Return the shortest time between two requests to a host, in seconds."""
        times = [arrival.at for arrival in self.arrivals() if arrival.host == host]
        return min(b - a for a, b in pairwise(times))


def _line(stream: IO[str] | None) -> str:
    """Return the next line of a pipe."""
    assert stream is not None
    return stream.readline()


@contextmanager
def stamping() -> Iterator[Stamping]:
    """Run a server."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-I", __file__], text=True, **pipes) as process:
        try:
            yield Stamping(process)
        finally:
            process.kill()


def answer(host: str, target: str, cookie: bool) -> bytes:
    """Return a response.

    h1's robots.txt is at h0. The pages of h2 want a cookie, and are asked for again with it at
    once. h3 asks for a longer delay in its robots.txt, which forbids its first page.
    """
    head, body = ["200 OK", "Content-Type: text/html"], ""
    if target == "/robots.txt":
        if host == "h1.example":
            head = ["301 Moved Permanently", "Location: http://h0.example/other-robots.txt"]
        if host == "h3.example":
            body = "User-agent: *\nCrawl-delay: .2\nDisallow: /0\n"
    elif host == "h2.example" and not cookie:
        head = ["302 Found", f"Location: {target}", "Set-Cookie: a=b"]
    else:
        pages = [f"http://h{h}.example/{n}" for h in range(_HOSTS) for n in range(_PAGES)]
        body = "".join(f'<a href="{page}">x</a>' for page in pages)
    lines = [*head, f"Content-Length: {len(body)}", "", body]
    return ("HTTP/1.1 " + "\r\n".join(lines)).encode()


def stamps(listener: socket.socket) -> bool:
    """Ask the kernel to stamp what connections to a listener receive; return whether it does."""
    if sys.platform != "linux":
        return False
    listener.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)  # connections inherit it
    with socket.create_connection(listener.getsockname()) as there, listener.accept()[0] as here:
        for _ in range(_TRIES):
            there.sendall(b"x")
            if received(here)[1] is not None:
                return True
            time.sleep(_PAUSE)
    return False


def received(connection: socket.socket) -> tuple[bytes, float | None]:
    """Return what a connection has received, and when it was sent, if the kernel says so."""
    data, notes, _, _ = connection.recvmsg(1 << 16, socket.CMSG_SPACE(_TIMESPEC.size))
    for _, _, note in notes:
        seconds, nanoseconds = _TIMESPEC.unpack(note)
        return data, seconds + nanoseconds / 1e9
    return data, None


def serve() -> None:
    """Serve on a free port, which is printed; print all arrivals for each line of input."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    is_exact = stamps(listener)
    port = listener.getsockname()[1]
    print(port, is_exact, flush=True)  # noqa: T201 - to the process of the test
    waiting = selectors.DefaultSelector()
    waiting.register(listener, selectors.EVENT_READ)
    waiting.register(sys.stdin, selectors.EVENT_READ)
    arrivals = []
    while True:
        for key, _ in waiting.select():
            if key.fileobj is sys.stdin:
                if not sys.stdin.readline():
                    return
                print(json.dumps(arrivals), flush=True)  # noqa: T201 - as above
            elif key.fileobj is listener:
                waiting.register(listener.accept()[0], selectors.EVENT_READ)
            else:
                connection = key.fileobj
                assert isinstance(connection, socket.socket)
                try:
                    data, at = received(connection)
                except ConnectionError:
                    data = b""
                if not data:
                    waiting.unregister(connection)
                    connection.close()
                    continue
                head = data.decode()
                host = head.partition("Host: ")[2].partition("\r\n")[0]
                target = head.split(" ")[1]
                arrivals.append((at or time.time(), host, target))
                connection.sendall(answer(host, target, "\r\nCookie: " in head))


if __name__ == "__main__":
    serve()

"""A server in a process of its own, which does nothing but to note when requests arrive.

A server inside the process of the test notes them when the process finds time for it.
"""

import json
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import IO, NamedTuple

_HOSTS = 4
_PAGES = 3


class Arrival(NamedTuple):
    """A request that arrived: seconds since 1970, its host and its target."""

    at: float
    host: str
    target: str


class Stamping:
    """A running server. Its first page links to three pages on each of four hosts."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.port = int(_line(process.stdout))

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


def serve() -> None:
    """Serve on a free port, which is printed; print all arrivals for each line of input."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(listener.getsockname()[1], flush=True)  # noqa: T201 - to the process of the test
    waiting = selectors.DefaultSelector()
    waiting.register(listener, selectors.EVENT_READ)
    waiting.register(sys.stdin, selectors.EVENT_READ)
    arrivals = []
    while True:
        for key, _ in waiting.select():
            now = time.time()
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
                    head = connection.recv(1 << 16).decode()
                except ConnectionError:
                    head = ""
                if not head:
                    waiting.unregister(connection)
                    connection.close()
                    continue
                host = head.partition("Host: ")[2].partition("\r\n")[0]
                target = head.split(" ")[1]
                arrivals.append((now, host, target))
                connection.sendall(answer(host, target, "\r\nCookie: " in head))


if __name__ == "__main__":
    serve()

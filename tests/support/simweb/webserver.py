"""Serves a simulated web on loopback, over http and https, to one crawler."""

import asyncio
import multiprocessing
import os
import signal
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple, TextIO

import trustme
from support.simweb.web import Line, Reply, Spec, Web, sites
from support.simweb.webjudge import write, write_head

_REASONS = {
    200: "OK",
    301: "Moved Permanently",
    302: "Found",
    308: "Permanent Redirect",
    404: "Not Found",
    410: "Gone",
}
_SLOW = 300.0  # seconds to make a big web


class ServingError(Exception):
    """A web cannot be served; the message says why, for people."""


class Serving(NamedTuple):
    """Where a web is served."""

    http: int  # a port of 127.0.0.1
    https: int
    ca_file: Path
    seeds_file: Path  # home pages, one a line
    log_file: Path

    @property
    def connect_to(self) -> list[str]:
        """Return what makes curl and canonry connect here, whatever the host."""
        return [f":80:127.0.0.1:{self.http}", f":443:127.0.0.1:{self.https}"]

    @property
    def seeds(self) -> list[str]:
        """Return the home pages."""
        return self.seeds_file.read_text(encoding="utf-8").split()


class _Connection(asyncio.Protocol):
    """Answers requests, one after the other: as a host does, or as a proxy."""

    def __init__(self, web: Web, scheme: str, tls: ssl.SSLContext) -> None:
        self._web = web
        self._scheme = scheme
        self._tls = tls
        self._received = b""
        self._upgrading: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer the requests whose heads are complete, unless a tunnel is being made."""
        self._received += data
        if self._upgrading is None:
            self._answer()

    def _answer(self) -> None:
        while b"\r\n\r\n" in self._received:
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            method, target, _version = lines[0].split(" ")
            if method == "CONNECT":
                self._transport.pause_reading()
                self._transport.write(b"HTTP/1.1 200 Connected\r\n\r\n")
                self._upgrading = asyncio.create_task(self._upgrade())
                return
            scheme, host = self._scheme, _host_of(lines)
            if "://" in target:  # as to a proxy
                scheme, _, rest = target.partition("://")
                host, slash, target = rest.partition("/")
                target = slash + target or "/"
            name = host.lower().partition(":")[0]
            self._transport.write(_bytes_of(self._web.answer(scheme, name, target), method))

    async def _upgrade(self) -> None:
        """Speak TLS from now on, as the host at the other end of a proxy's tunnel would."""
        loop = asyncio.get_running_loop()
        found = await loop.start_tls(self._transport, self, self._tls, server_side=True)
        if found is not None:
            self._transport, self._scheme, self._upgrading = found, "https", None
            self._answer()


def _host_of(lines: list[str]) -> str:
    """Return the Host field of a request's head."""
    fields = (line.partition(":") for line in lines[1:])
    return next((value.strip() for name, _, value in fields if name.lower() == "host"), "")


def _bytes_of(reply: Reply, method: str) -> bytes:
    """Return an answer as it goes over the wire."""
    location = "" if reply.location is None else f"Location: {reply.location}\r\n"
    head = (
        f"HTTP/1.1 {reply.status} {_REASONS[reply.status]}\r\n{location}"
        f"Content-Type: text/html; charset=utf-8\r\nContent-Length: {len(reply.body)}\r\n\r\n"
    )
    return head.encode() + (reply.body if method != "HEAD" else b"")


async def _listen(web: Web, scheme: str, tls: ssl.SSLContext, bound: socket.socket) -> None:
    """Answer on a socket."""
    await asyncio.get_running_loop().create_server(
        lambda: _Connection(web, scheme, tls),
        sock=bound,
        ssl=tls if scheme == "https" else None,
    )


def _tls(web: Web, ca_file: Path) -> ssl.SSLContext:
    """Return what makes all hosts of a web trusted by whoever trusts the authority in a file."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(ca_file))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure = {
        url.split("/")[2]
        for site in web.sites
        for url in (site.home, *site.names)
        if url.startswith("https")
    }
    secure |= {host for site in web.sites if site.home.startswith("https") for host in site.hosts}
    authority.issue_cert(*sorted(secure | {"localhost"})).configure_cert(context)
    return context


def serve(spec: Spec, folder: Path, bound: list[socket.socket], ready: Connection) -> None:
    """Serve a web until the process that started this one ends, and write its log.

    Args:
        spec: what the web is made of.
        folder: gets the log, the seeds and the authority's certificate.
        bound: sockets for http and https.
        ready: receives where it is served.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which kills this one
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with (folder / "requests.log").open("w", encoding="utf-8", buffering=1 << 16) as log:
        log.write(write_head(spec))
        asyncio.run(_serve(spec, folder, bound, ready, log))


async def _serve(
    spec: Spec, folder: Path, bound: list[socket.socket], ready: Connection, log: TextIO
) -> None:
    def note(line: Line) -> None:
        log.write(write(line))

    web = Web(list(sites(spec)), note, spec.seed, spec.matter)
    ca_file, seeds_file = folder / "ca.pem", folder / "seeds.txt"
    seeds_file.write_text("".join(f"{url}\n" for url in web.seeds), encoding="utf-8")
    tls = _tls(web, ca_file)
    ports = [one.getsockname()[1] for one in bound]
    for scheme, one in zip(("http", "https"), bound, strict=True):
        await _listen(web, scheme, tls, one)
    parent = multiprocessing.parent_process()
    assert parent is not None
    if parent.is_alive():
        ready.send(Serving(*ports, ca_file, seeds_file, folder / "requests.log"))
    while parent.is_alive():  # the log is complete half a second after the last request
        await asyncio.sleep(0.5)
        log.flush()


def _bind(ports: tuple[int, int]) -> list[socket.socket]:
    """Return sockets that listen on ports; 0 is any.

    Raises:
        ServingError: if a port cannot be had.
    """
    with ExitStack() as stack:
        found = []
        for port in ports:
            one = stack.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                one.bind(("127.0.0.1", port))
                one.listen()
            except OSError as error:
                raise _unusable(port, os.strerror(error.errno or 0)) from None
            except OverflowError:
                raise _unusable(port, "there is no such port") from None
            found.append(one)
        stack.pop_all()
    return found


def _unusable(port: int, reason: str) -> ServingError:
    return ServingError(
        f"port {port} of 127.0.0.1 cannot be used: {reason}; "
        "give another PORT, of which the next one is free, too"
    )


@contextmanager
def served(spec: Spec, folder: Path, ports: tuple[int, int] = (0, 0)) -> Iterator[Serving]:
    """Serve a web from a process of its own.

    Nothing is written unless both ports can be had: another server may use the folder.

    Raises:
        ServingError: if they cannot be had, or if the process ends before it serves.
    """
    bound = _bind(ports)
    ready, sender = multiprocessing.Pipe(duplex=False)
    server = multiprocessing.Process(target=serve, args=(spec, folder, bound, sender), daemon=True)
    server.start()
    for one in (*bound, sender):  # the process has its own
        one.close()
    try:
        if not ready.poll(_SLOW):
            raise ServingError(f"the web was not made within {_SLOW:.0f} seconds")
        try:
            serving = ready.recv()
        except EOFError:
            server.join()
            raise ServingError(
                f"the server ended before the web was made, with exit code {server.exitcode}"
            ) from None
        yield serving
    finally:
        server.kill()
        server.join()
        ready.close()

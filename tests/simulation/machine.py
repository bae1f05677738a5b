"""A machine that is simulated: its clock, its network, its processes and how they are killed.

One event loop runs all of it. Its time jumps to the next timer when nothing is ready, what would
run in threads runs in turn, and a connection is a pair of transports in memory with aiohttp's own
protocols at both ends. So waiting costs nothing, and one seed gives one history. The manner is that
of FoundationDB's simulation (https://apple.github.io/foundationdb/testing.html).
"""

import asyncio
import ctypes
import errno
import heapq
import random
import socket
import sqlite3
import sys
import threading
import time
import uuid
import warnings
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import pytest
from aiohttp import web
from sqlalchemy import Engine, event

from canonry.crawler.run.job import lease_owners
from canonry.crawler.run.queue import scheduler

_T = TypeVar("_T")
_Answer = Callable[[web.BaseRequest, str], Awaitable[web.StreamResponse]]

_process: ContextVar[int] = ContextVar("process", default=0)
_CLIENT, _BACKLOG = "203.0.113.9", 1 << 16
_LOOKS = 5.0  # seconds between two looks of a process that waits


class KilledError(BaseException):
    """The process is gone; whatever its code still does reaches nothing."""


class Machine(asyncio.SelectorEventLoop):
    """The loop, and all that it stands for.

    Attributes:
        answer: gives a server's answer to a request to a URL's scheme and host.
        is_up: says whether a host accepts connections.
        cut_share: of connections, which are cut somewhere in the first bytes of an answer.
        room: pages that each connection may add to a file of SQLite; 0: all that it wants.
        began: seconds since 1970 when the machine's time was 0.
    """

    def __init__(self, seed: str, began: float) -> None:
        """Switch it on."""
        self.now = 0.0
        super().__init__()
        self.began = began
        self._first = int(began) // 60  # process: none of another night has its number
        self.random = random.Random(seed)
        self.answer: _Answer
        self.is_up: Callable[[str], bool] = lambda _host: True
        self.cut_share = 0.0
        self.room = 0
        self._clock_resolution = 1e-9
        self._addresses: dict[str, str] = {}  # of hosts
        self._reached: dict[int, tuple[str, int]] = {}  # hosts and ports, by the client's sockets
        self._ends: dict[int, list[Transport]] = {}  # the clients', by process
        self._databases: dict[int, list[Any]] = {}  # connections, by process
        self._dead: set[int] = set()
        self._left = Counter[int]()  # steps until a process is killed
        self._begins = Counter[int]()  # transactions until a process is killed
        self._killed: dict[int, asyncio.Future[None]] = {}
        self.set_exception_handler(lambda *_: None)

    def time(self) -> float:
        """Return the time since it was switched on, in seconds."""
        return self.now

    def jump(self, seconds: float) -> None:
        """Set the clock that people see ahead, or back."""
        self.began += seconds

    # Processes

    async def run_process(
        self, main: Coroutine[Any, Any, _T], *, steps: int = 0, begins: int = 0
    ) -> _T | None:
        """Run a process, and return its result; None if it was killed.

        Args:
            main: what it does.
            steps: of its code between two awaits, until it is killed; 0: it is not.
            begins: transactions that it begins until it is killed; 0: it is not.
        """
        number = self._first + len(self._killed)
        self._killed[number] = self.create_future()
        self._left[number], self._begins[number] = steps, begins

        context = copy_context()
        context.run(_process.set, number)
        task = self.create_task(main, context=context)
        await asyncio.wait({task, self._killed[number]}, return_when="FIRST_COMPLETED")
        if number in self._dead:
            return None
        self._dead.add(number)
        return task.result()

    def _kill(self, number: int) -> None:
        """End a process as SIGKILL does: what its database has committed is there, and no more."""
        self._dead.add(number)
        self._keep()
        for connection in self._databases.pop(number, []):
            with suppress(Exception):
                connection.close()
        for end in self._ends.pop(number, []):
            end.drop()
        for handle in [*self._ready, *self._scheduled]:  # type: ignore[attr-defined]
            if handle._context.get(_process, 0) == number:
                handle._cancelled = True  # and keeps what it would have run
        if not self._killed[number].done():
            self._killed[number].set_result(None)

    def _spend(self, left: Counter[int], number: int) -> None:
        """Take one of what a process has left until it is killed."""
        if left[number] and number not in self._dead:
            left[number] -= 1
            if not left[number]:
                self._kill(number)

    def is_alive(self, number: int) -> bool:
        """Return True if there is such a process."""
        return number in self._killed and number not in self._dead

    def _run_once(self) -> None:
        """Run what is ready, but nothing of dead processes; else jump to the next timer."""
        ready: deque[Any] = self._ready  # type: ignore[attr-defined]
        for handle in [*ready]:
            number = handle._context.get(_process, 0)
            self._spend(self._left, number)
            if number in self._dead:
                handle._cancelled = True
        timers: list[Any] = self._scheduled  # type: ignore[attr-defined]
        while timers and timers[0]._cancelled:
            heapq.heappop(timers)._scheduled = False
        if not ready:
            if not timers:
                raise RuntimeError("nothing is left that could happen")
            self.now = max(self.now, timers[0]._when)
        super()._run_once()  # type: ignore[misc]

    def run_in_executor(self, _executor: Any, function: Any, *args: Any) -> Any:  # noqa: ANN401
        """Call a function at once."""
        future = self.create_future()
        try:
            future.set_result(function(*args))
        except BaseException as error:  # noqa: BLE001 - as a thread hands them over
            future.set_exception(error)
        return future

    # The network

    async def getaddrinfo(self, host: Any, port: Any, **_options: Any) -> Any:  # noqa: ANN401
        """Return the address of a host."""
        number = len(self._addresses)
        address = f"198.51.{100 + number // 250}.{number % 250 + 1}"
        found = self._addresses.setdefault(host, address)
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (found, port))]

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:  # noqa: ANN401
        """Reach a host."""
        await asyncio.sleep(0.001)
        host = next(name for name, known in self._addresses.items() if known == address[0])
        if not self.is_up(host):
            raise ConnectionRefusedError(errno.ECONNREFUSED, "refused")
        self._reached[id(sock)] = host, address[1]

    async def create_connection(self, factory: Any, *_args: Any, **options: Any) -> Any:  # noqa: ANN401
        """Join a client to a host's server."""
        sock = options["sock"]
        host, port = self._reached.pop(id(sock))
        scheme = "https" if port == 443 else "http"

        async def answer(request: web.BaseRequest) -> web.StreamResponse:
            return await self.answer(request, f"{scheme}://{host}")

        client = factory()
        server: Any = web.Server(answer)()
        latency = 0.001 + self.random.random() / 100
        near = Transport(self, client, (self._addresses[host], port), latency)
        far = Transport(self, server, (_CLIENT, _BACKLOG), latency)
        if self.random.random() < self.cut_share:
            far.cut_after = self.random.randrange(1, 3_000)
        near.peer, far.peer = far, near
        server.connection_made(far)
        client.connection_made(near)
        self._ends.setdefault(_process.get(), []).append(near)
        sock.close()
        return near, client

    # What processes find on it

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let clocks, names of processes and databases be the machine's."""
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            patch.setattr(sys, "unraisablehook", lambda _unraisable: None)
            warnings.simplefilter("ignore")
            patch.setattr(time, "time", lambda: self.began + self.now)
            patch.setattr(time, "monotonic", lambda: self.now)
            patch.setattr(time, "sleep", partial(_sleep, threading.get_ident(), time.sleep))
            patch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=self.random.getrandbits(128)))
            patch.setattr(random, "random", self.random.random)
            patch.setattr(lease_owners, "os", _System(self))
            patch.setattr(lease_owners, "_named", _Names())
            # A process that waits looks into the store: twice a second costs most of the time.
            patch.setattr(scheduler, "_LONGEST_PAUSE", _LOOKS)
            event.listen(Engine, "connect", self._connected)
            event.listen(Engine, "begin", self._begin)
            try:
                asyncio.set_event_loop(self)
                yield
            finally:
                self._keep()
                self._ready.clear()  # type: ignore[attr-defined]
                self._scheduled.clear()  # type: ignore[attr-defined]
                for connection in chain(*self._databases.values()):
                    with suppress(Exception):
                        connection.close()
                event.remove(Engine, "connect", self._connected)
                event.remove(Engine, "begin", self._begin)
                asyncio.set_event_loop(None)
                self.close()

    def _keep(self) -> None:
        """Keep for ever what processes are at: a coroutine that is let go runs on to its end."""
        left = (asyncio.all_tasks(self), [*self._ready], [*self._scheduled], self._ends)  # type: ignore[attr-defined]
        ctypes.pythonapi.Py_IncRef(ctypes.py_object((left, self._killed)))

    def _connected(self, connection: Any, record: Any) -> None:  # noqa: ANN401 - DBAPI has no type
        number = record.info["process"] = _process.get()
        self._databases.setdefault(number, []).append(connection)
        if self.room and isinstance(connection, sqlite3.Connection):
            [(pages,)] = connection.execute("PRAGMA page_count")
            connection.execute(f"PRAGMA max_page_count = {pages + self.room}")

    def _begin(self, connection: Any) -> None:  # noqa: ANN401 - of SQLAlchemy
        number = connection.info.get("process", 0)
        self._spend(self._begins, number)
        if number in self._dead:
            raise KilledError


class _System:
    """What lease owners ask of the system about processes."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def getpid(self) -> int:
        return _process.get()

    def kill(self, number: int, _signal: int) -> None:
        if not self._machine.is_alive(number):
            raise ProcessLookupError


class _Names(set[str]):
    """The names of lease owners, of which each process knows its own."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) and f":{_process.get()}:" in str(name)


def _sleep(thread: int, sleep: Callable[[float], None], seconds: float) -> None:
    """Sleep in another thread, which is none of the machine's."""
    if threading.get_ident() == thread:
        raise RuntimeError("a process sleeps, and all others with it")
    sleep(seconds)


class Transport(asyncio.Transport):
    """One end of a connection in memory.

    Attributes:
        peer: the other end.
        cut_after: bytes that it sends before the connection is cut; None: it is not.
    """

    peer: "Transport"

    def __init__(
        self,
        loop: Machine,
        protocol: Any,  # noqa: ANN401 - one of aiohttp
        address: tuple[str, int],
        latency: float,
    ) -> None:
        """Make an end; it is used once it has a peer."""
        super().__init__({"peername": address, "sockname": (_CLIENT, 4), "socket": None})
        self._loop, self._protocol, self._latency = loop, protocol, latency
        self._is_closed = self._is_paused = False
        self._waiting = deque[bytes | None]()  # what arrived while the reader paused
        self.cut_after: int | None = None

    def write(self, data: Any) -> None:  # noqa: ANN401 - bytes of any kind
        """Send bytes."""
        if self._is_closed:
            return
        sent = bytes(data)
        if self.cut_after is not None:
            sent, self.cut_after = sent[: self.cut_after], self.cut_after - len(sent)
        self._loop.call_later(self._latency, self.peer._arrive, sent)
        if self.cut_after is not None and self.cut_after <= 0:
            self.drop()

    def writelines(self, parts: Any) -> None:  # noqa: ANN401 - as asyncio declares it
        """Send some pieces of bytes."""
        self.write(b"".join(parts))

    def _arrive(self, data: bytes | None) -> None:
        if self._is_closed:
            return
        if self._is_paused:
            self._waiting.append(data)
        elif data is None:
            self._protocol.eof_received()
            self.close()
        elif data:
            self._protocol.data_received(data)

    def drop(self) -> None:
        """End without a word to this side's protocol, as where its process is gone."""
        if not self._is_closed:
            self._is_closed = True
            self._loop.call_later(self._latency, self.peer._arrive, None)

    def close(self) -> None:
        """End."""
        if not self._is_closed:
            self.drop()
            self._loop.call_soon(self._protocol.connection_lost, None)

    abort = close

    def is_closing(self) -> bool:
        """Return True if it has ended."""
        return self._is_closed

    def pause_reading(self) -> None:
        """Keep what arrives."""
        self._is_paused = True

    def resume_reading(self) -> None:
        """Hand over what has arrived."""
        self._is_paused = False
        while self._waiting and not self._is_paused:
            self._arrive(self._waiting.popleft())

    def is_reading(self) -> bool:
        """Return True unless it is paused."""
        return not self._is_paused

    def get_write_buffer_size(self) -> int:
        """Return 0: all is sent at once."""
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Do nothing."""

    def can_write_eof(self) -> bool:
        """Return False."""
        return False

    def get_protocol(self) -> Any:  # noqa: ANN401 - as asyncio declares it
        """Return the protocol."""
        return self._protocol

    def set_protocol(self, protocol: Any) -> None:  # noqa: ANN401 - as asyncio declares it
        """Replace the protocol."""
        self._protocol = protocol

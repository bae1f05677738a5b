"""Runs the command in forks of a process that has imported it: to start Python takes far longer.

Each is a process like others, with a number, a folder, an environment and pipes of its own. Only
the imports are missing; what is about them starts its processes itself.
"""

import atexit
import gc
import importlib
import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Self

_LONGEST = 1 << 17  # bytes of a request: the words, the folder, the environment


class Fork:
    """A process of the command, with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, words: Sequence[str], folder: Path) -> None:
        """Start the command in a folder."""
        self.returncode: int | None = None
        self.args = list(words)
        self._answers, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        given, writing = os.pipe()
        out, printing = os.pipe()
        errors, complaining = os.pipe()
        self.stdin, self.stdout = os.fdopen(writing, "wb"), os.fdopen(out, "rb")
        self.stderr = os.fdopen(errors, "rb")
        request = {"words": words, "folder": str(folder), "environment": dict(os.environ)}
        fds = [given, printing, complaining, theirs.detach()]
        socket.send_fds(_server(), [json.dumps(request).encode()], fds)
        for fd in fds:
            os.close(fd)
        self.pid = int(self._answers.recv(_LONGEST))
        self._threads = ThreadPoolExecutor(3)
        self._reading: list[Future[bytes]] = []

    def __enter__(self) -> Self:
        """Return the process."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Wait until the process has ended; what it printed and nobody read is lost."""
        for file in (self.stdin, self.stdout, self.stderr):
            file.close()
        self.wait()
        self._threads.shutdown()

    def poll(self) -> int | None:
        """Return the exit code, or None while the process runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the process has ended; return its exit code.

        Raises:
            subprocess.TimeoutExpired: it runs on.
        """
        if self.returncode is None:
            self._answers.settimeout(timeout)
            try:
                self.returncode = int(self._answers.recv(_LONGEST))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0) from None
            self._answers.close()
        return self.returncode

    def communicate(self, data: bytes = b"", timeout: float | None = None) -> tuple[bytes, bytes]:
        """Write the input, wait until the process has ended, and return what it printed.

        Raises:
            subprocess.TimeoutExpired: it runs on; this may be called again.
        """
        if not self._reading:
            self._threads.submit(self._write, data)
            self._reading = [self._threads.submit(file.read) for file in (self.stdout, self.stderr)]
        if wait(self._reading, timeout).not_done:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        self.wait(timeout)
        self._threads.shutdown()
        for file in (self.stdout, self.stderr):
            file.close()
        out, errors = (one.result() for one in self._reading)
        return out, errors

    def _write(self, data: bytes) -> None:
        """Write the input, as much of it as the process reads."""
        with suppress(BrokenPipeError):
            self.stdin.write(data)
            self.stdin.close()

    def send_signal(self, number: int) -> None:
        """Send a signal, if the process has not ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


@contextmanager
def on_path(folder: Path) -> Iterator[None]:
    """Put a program "canonry" into a folder, for scripts: it has a fork be the command for it."""
    folder.mkdir()
    program = folder / "canonry"
    program.write_text(f"#!{sys.executable} -IS\nSOCKET = {str(folder / 'socket')!r}\n{_PROGRAM}")
    program.chmod(0o755)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(folder / "socket"))
        listener.listen()
        thread = threading.Thread(target=_hand_over, args=(listener,))
        thread.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


# It starts in 10 ms. When it is killed, so is the command.
_PROGRAM = """
import json, os, signal, socket, sys
answers = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
answers.connect(SOCKET)
asked = {"words": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}
socket.send_fds(answers, [json.dumps(asked | {"ends": True}).encode()], [0, 1, 2])
process = int(answers.recv(99))
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, _frame: os.kill(process, number))
code = int(answers.recv(99))
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


def _hand_over(listener: socket.socket) -> None:
    """Hand over what programs ask for to the process that forks."""
    while True:
        try:
            answers, _ = listener.accept()
        except OSError:  # it was shut down
            return
        data, fds, _, _ = socket.recv_fds(answers, _LONGEST, 3)
        fds.append(answers.detach())
        socket.send_fds(_server(), [data], fds)
        for fd in fds:
            os.close(fd)


@cache
def _server() -> socket.socket:
    """Start the process that forks, once for this one; return the way to it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-P", "-s", __file__, str(theirs.fileno())],
        stdin=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
    )
    theirs.close()

    def stop() -> None:
        ours.close()
        process.wait()

    atexit.register(stop)
    return ours


def _serve(requests: socket.socket) -> None:
    """Fork for each request. Returns when there are no more, and in each fork of the command."""
    from canonry.crawler.cli.commands import COMMANDS  # noqa: PLC0415 - only this process needs it

    for module in COMMANDS.values():
        importlib.import_module(f"canonry.crawler.cli.{module}")
    importlib.import_module("canonry.crawler.run.workers")
    importlib.import_module("canonry").canonicalize("http://a.example/")  # compiles its patterns
    gc.freeze()  # else each fork collects, and so copies, all that was imported
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait
    while True:
        data, fds, _, _ = socket.recv_fds(requests, _LONGEST, 4)
        if not data:
            return
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            requests.close()
            request = json.loads(data)
            process = os.fork()
            if process == 0:
                _run(request, fds)
            _wait(process, fds, ends="ends" in request)
        for fd in fds:
            os.close(fd)


def _wait(process: int, fds: list[int], *, ends: bool) -> None:
    """Tell a process's number, and with which code it ends; it may have to end with who asks."""
    for fd in fds[:3]:
        os.close(fd)
    with socket.socket(fileno=fds[3]) as answers:
        answers.send(str(process).encode())
        if ends and answers in select.select([answers, os.pidfd_open(process)], [], [])[0]:
            os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        with suppress(BrokenPipeError):
            answers.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _run(request: dict[str, object], fds: list[int]) -> None:
    """Be the command; ends this process."""
    os.close(fds.pop())
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    for name in ("stdin", "stdout", "stderr"):
        old = getattr(sys, name)
        stream = io.TextIOWrapper(
            os.fdopen(old.fileno(), "rb" if name == "stdin" else "wb"),
            encoding=old.encoding,
            errors=old.errors,
            line_buffering=name == "stderr",
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    folder, words = str(request["folder"]), request["words"]
    assert isinstance(words, list)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path.insert(0, folder)
    sys.argv = ["canonry", *words]
    main = ModuleType("__main__")  # so that processes of `multiprocessing` do not import this file
    main.__spec__ = ModuleSpec("canonry.__main__", None)
    sys.modules["__main__"] = main
    from canonry.__main__ import main as command  # noqa: PLC0415 - as above

    _end(command)


def _end(command: Callable[[], None]) -> None:
    """Run the command and end as Python does, but free nothing: it would copy all the memory."""
    code: object = 0
    try:
        command()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else error.code is not None
    except BaseException:  # noqa: BLE001 - Python's own end shows it
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()  # noqa: SLF001 - what Python itself calls
    atexit._run_exitfuncs()  # noqa: SLF001 - same
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = 120  # as Python's
    os._exit(int(code))


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))

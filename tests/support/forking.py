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
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

_LONGEST = 1 << 17  # bytes of a request: the words, the folder, the environment


def run(
    words: Sequence[str], folder: Path, data: bytes | None, timeout: float
) -> subprocess.CompletedProcess[bytes]:
    """Run the command in a folder until it ends, as `subprocess.run` does.

    Raises:
        subprocess.TimeoutExpired: it took too long, and was killed.
    """
    with ExitStack() as stack, ThreadPoolExecutor(3) as threads:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stack.enter_context(ours)
        given, writing = os.pipe()
        out, printing = os.pipe()
        errors, complaining = os.pipe()
        request = {"words": words, "folder": str(folder), "environment": dict(os.environ)}
        fds = [given, printing, complaining, theirs.detach()]
        socket.send_fds(_server(), [json.dumps(request).encode()], fds)
        for fd in fds:
            os.close(fd)
        threads.submit(_write, writing, data or b"")
        said = [threads.submit(_read, fd) for fd in (out, errors)]
        process = int(ours.recv(_LONGEST))
        ours.settimeout(timeout)
        try:
            code = int(ours.recv(_LONGEST))
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(words), timeout) from None
        return subprocess.CompletedProcess(list(words), code, *(one.result() for one in said))


def _write(fd: int, data: bytes) -> None:
    """Write a process's input, as much of it as it reads."""
    try:
        with open(fd, "wb") as file:
            file.write(data)
    except BrokenPipeError:
        pass


def _read(fd: int) -> bytes:
    """Read a process's output to its end."""
    with open(fd, "rb") as file:
        return file.read()


@cache
def _server() -> socket.socket:
    """Start the process that forks, once for this one; return the way to it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-I", __file__, str(theirs.fileno())],
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

    for listed in COMMANDS.values():
        importlib.import_module(f"canonry.crawler.cli.{listed.module}")
    importlib.import_module("canonry.crawler.run.workers")
    gc.freeze()  # else each fork collects, and so copies, all that was imported
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait
    while True:
        data, fds, _, _ = socket.recv_fds(requests, _LONGEST, 4)
        if not data:
            return
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            requests.close()
            process = os.fork()
            if process == 0:
                _run(json.loads(data), fds)
            _wait(process, fds)
        for fd in fds:
            os.close(fd)


def _wait(process: int, fds: list[int]) -> None:
    """Tell a process's number, and with which code it ends."""
    for fd in fds[:3]:
        os.close(fd)
    with socket.socket(fileno=fds[3]) as answers:
        answers.send(str(process).encode())
        _, status = os.waitpid(process, 0)
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
    from canonry.crawler.cli.commands import main as command  # noqa: PLC0415 - as above

    command()


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))

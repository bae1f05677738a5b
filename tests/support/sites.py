"""The demo site in a thread, and the command as a process of its own."""

import asyncio
import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from support.forking import Fork

from canonry.crawler.cli.all_printed import ROWS
from canonry.crawler.demo.server import Served, serving
from canonry.crawler.demo.site import SEED, build

_T = TypeVar("_T")


@contextmanager
def from_thread(server: AbstractAsyncContextManager[_T]) -> Iterator[_T]:
    """Run a server in a thread for as long as the block lasts."""
    loop = asyncio.new_event_loop()
    ready: list[_T] = []
    started = threading.Event()
    over = asyncio.Event()

    async def serve() -> None:
        async with server as served:
            ready.append(served)
            started.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert started.wait(60)
    try:
        yield ready[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(60)
        loop.close()


@contextmanager
def demo_site(pause: float = 0.0, products: int = 30, guides: int = 15) -> Iterator[Served]:
    """Serve a small demo site from a thread; each response comes after a pause, in seconds."""
    with from_thread(serving(build(products=products, guides=guides), pause)) as served:
        yield served


def run_command(
    *words: str, folder: Path, data: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the command until it ends, with this standard input."""
    process = Fork(words, folder)
    try:
        out, errors = process.communicate(data or b"", timeout=100)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return subprocess.CompletedProcess(words, process.wait(), out, errors)


def crawl_words(served: Served, *more: str) -> list[str]:
    """Return the arguments that crawl the demo site."""
    return [
        "crawl",
        SEED,
        "--connect-to",
        f"::127.0.0.1:{served.port}",
        "--scope",
        "domain",
        "--max-depth",
        "12",
        *("--delay", "0") * ("--delay" not in more),
        *more,
    ]


def host_words(seed: str, port: int, *more: str) -> list[str]:
    """Return the arguments that crawl a host that a port serves, without learning or delay."""
    quick = ("--delay", "0", "--config", "learn.enabled=false")
    return ["crawl", seed, "--connect-to", f"::127.0.0.1:{port}", *quick, *more]


def crawl_host(seed: str, port: int, folder: Path, *more: str) -> None:
    """Crawl a host that a port serves, without delay; the crawl has to end well."""
    connect = ["--connect-to", f"::127.0.0.1:{port}", "--delay", "0"]
    done = run_command("crawl", seed, *connect, *more, folder=folder)
    assert done.returncode == 0, done.stderr


def start(folder: Path, *words: str) -> Fork:
    """Start the command, without any input, and return its process."""
    process = Fork(words, folder)
    process.stdin.close()
    return process


def children(process: Fork) -> list[int]:
    """Return the worker processes of a command."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    found = []
    for child in map(int, listed):
        try:
            words = Path(f"/proc/{child}/cmdline").read_bytes()
        except OSError:
            continue
        if b"spawn_main" in words:
            found.append(child)
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 100) -> None:
    """Wait until a condition holds; fail after so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"the condition did not hold within {seconds} seconds"
        time.sleep(0.002)


def exported(folder: Path, what: str, *words: str) -> list[dict[str, Any]]:
    """Return the rows of an export, of the folder's store or of the one that the words name.

    Each is what its schema says.
    """
    done = run_command("export", what, *words, folder=folder)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    kind = ROWS[f"export {what}"]
    for line, row in zip(done.stdout.splitlines(), rows, strict=True):
        assert msgspec.to_builtins(msgspec.json.decode(line, type=kind)) == row
    return rows


def pages_of(folder: Path, *words: str) -> set[tuple[str, int]]:
    """Return the title and status of each page in a store.

    Crawls may fetch a resource under different URLs, but its title is always the same.
    """
    return {
        (page["title"] or page["url"], page["status"]) for page in exported(folder, "pages", *words)
    }

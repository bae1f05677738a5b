"""The demo site served beside the test, and the command run on it as a process of its own."""

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from canonry.crawler.demo.server import Served, serving
from canonry.crawler.demo.site import SEED, build

_T = TypeVar("_T")


@contextmanager
def from_thread(server: AbstractAsyncContextManager[_T]) -> Iterator[_T]:
    """Keep a server open in a thread of its own."""
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
    assert started.wait(10)
    try:
        yield ready[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(10)
        loop.close()


@contextmanager
def demo_site(pause: float = 0.0, products: int = 60, guides: int = 30) -> Iterator[Served]:
    """Serve the demo site from a thread."""
    with from_thread(serving(build(products=products, guides=guides), pause)) as served:
        yield served


def run_command(
    *words: str, folder: Path, data: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "canonry", *words],
        cwd=folder,
        input=data,
        capture_output=True,
        timeout=100,
        check=False,
    )


def crawl_words(served: Served, *more: str) -> list[str]:
    """Return the words of a crawl of the demo site."""
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


def start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start the command."""
    return subprocess.Popen(
        [sys.executable, "-m", "canonry", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.002)


def exported(folder: Path, what: str, *words: str) -> list[dict[str, Any]]:
    """Return an export of the folder's store, or of the one that the words name."""
    done = run_command("export", what, *words, folder=folder)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def pages_of(folder: Path, *words: str) -> set[tuple[str, int]]:
    """Return what is in a store's pages, by what tells resources apart.

    Which of a resource's names was asked first differs from crawl to crawl; its title does not.
    """
    return {
        (page["title"] or page["url"], page["status"]) for page in exported(folder, "pages", *words)
    }

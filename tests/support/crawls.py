"""Crawls of a raw server, inside the process of the test."""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.servers import Answer, ok, raw_server

from canonry.crawler.run import wiring
from canonry.crawler.run.queue.scheduler import SendTimes
from canonry.crawler.settings import load
from canonry.storage.reading import report

SEED = "http://a.example/"


def target_of(head: bytes) -> str:
    """Return the target of a request: the path and query of its request line."""
    return head.split(b" ")[1].decode()


def host_of(head: bytes) -> str:
    """Return the Host header of a request."""
    return head.partition(b"Host: ")[2].partition(b"\r\n")[0].decode()


def page(*links: str) -> bytes:
    """Return the response with a page that has these links."""
    body = "".join(f'<a href="{link}">x</a>' for link in links).encode()
    return ok(body, "Content-Type: text/html")


def sendings(patch: pytest.MonkeyPatch) -> list[tuple[float, str]]:
    """Note when crawls in this process send requests, in seconds, and the URLs.

    A server finds out later, and by how much depends on what else the machine does. That nothing
    leaves before is seen in tests/crawler/run/queue/test_send_times.py.
    """
    noted: list[tuple[float, str]] = []
    sent = SendTimes.sent

    def note(self: SendTimes, url: str) -> None:
        noted.append((time.monotonic(), url))
        sent(self, url)

    patch.setattr(SendTimes, "sent", note)
    return noted


def crawl(
    folder: Path,
    answer: Callable[[bytes], Answer],
    timeout: float = 10.0,
    retries: int = 3,
    retry_wait: float = 0.02,
    notices: list[str] | None = None,
    traps: dict[str, object] | None = None,
    fetch: dict[str, object] | None = None,
    seeds: Sequence[str] = (SEED,),
    **crawl_keys: object,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Crawl a raw server until nothing is left; return the store's status and its pages."""
    folder.mkdir(exist_ok=True)
    store = f"sqlite:///{folder / 'store.db'}"

    async def run() -> None:
        async with raw_server(answer) as raw:
            settings = load(
                None,
                {
                    "crawl": {"delay": 0.0, **crawl_keys},
                    "fetch": {
                        "connect_to": [f"::127.0.0.1:{raw.port}"],
                        "retry_wait": retry_wait,
                        "timeout": timeout,
                        "retries": retries,
                        **(fetch or {}),
                    },
                    "traps": traps or {},
                },
            )
            result = await wiring.crawl(
                seeds, store, settings, notify=(notices if notices is not None else []).append
            )
            assert result.finished

    asyncio.run(run())
    with report.reading(store) as connection:
        return report.status(connection), list(report.rows(connection, "pages"))

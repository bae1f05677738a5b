"""Open files: a process that may have few sends fewer requests at once; no URL fails for it."""

import asyncio
import json
import resource
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from support.ports import free_port
from support.servers import Answer, ok, raw_server
from support.sites import from_thread

from canonry.crawler.fetch import open_files
from canonry.crawler.fetch.client import Client
from canonry.crawler.settings import load
from canonry.crawler.web.listening import Where, listening

_LINKS = 80
_HOSTS = 120
_HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
_LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
os.execv(sys.executable, [sys.executable, "-m", "canonry", *sys.argv[3:]])
"""


def site(head: bytes) -> Answer:
    links = "".join(f'<a href="/{n}">' for n in range(_LINKS))
    return ok(links.encode() if head.startswith(b"GET / ") else b"leaf")


def slow_leaf(_head: bytes) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.1)
        writer.write(ok(b"leaf"))

    return answer


def limited_crawl(
    folder: Path, answer: Callable[[bytes], Answer], limit: int, *words: str, hard: int = 0
) -> tuple[dict[str, Any], str]:
    """Crawl in a process that may have few open files; return its summary, and what it told.

    If it serves a live page, 220 connections are open to that, and to the metrics, all the time.
    """
    settings = folder / "c.toml"
    settings.write_text("[crawl]\nrequests_per_host = 80\n[fetch]\nretries = 0\n")
    with from_thread(raw_server(answer)) as raw, ExitStack() as stack:
        given = ["crawl", "--connect-to", f"::127.0.0.1:{raw.port}", "--json", "--delay", "0"]
        given += [
            "--concurrency",
            "80",
            "--config",
            str(settings),
            "--config",
            "learn.enabled=false",
            *words,
        ]
        run = [sys.executable, "-c", _LIMITED, str(limit), str(hard or limit), *given]
        process = subprocess.Popen(run, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        told = b""
        if "--serve" in words:
            assert process.stderr is not None
            while b"The live page" not in told:
                told += process.stderr.readline()
            metrics = words[words.index("--config") + 1]
            for port in (words[words.index("--serve") + 1], metrics.partition("=")[2]):
                for _ in range(220):
                    idle = stack.enter_context(socket.socket())
                    idle.setblocking(False)  # noqa: FBT003 - socket has no other way
                    idle.connect_ex(("127.0.0.1", int(port)))
        out, more = process.communicate(timeout=100)
    assert process.returncode == 0, told + more
    return json.loads(out), (told + more).decode()


@pytest.mark.parametrize(("soft", "hard"), [(64, 64), (64, _HARD)])
def test_a_crawl_gets_along_with_the_open_files_that_it_may_have(
    tmp_path: Path, soft: int, hard: int
) -> None:
    summary, told = limited_crawl(tmp_path, site, soft, "http://h.example/", hard=hard)
    assert summary["run"]["pages"] == _LINKS + 1
    assert summary["run"]["retries"] == 0
    said = "may have 64 open files (ulimit -n): at most 16 requests are sent at once, not 80"
    assert (said in told) is (hard == soft)


def test_connections_that_are_kept_leave_room_for_new_ones(tmp_path: Path) -> None:
    seeds = [f"http://h{n}.example/" for n in range(_HOSTS)]
    summary, _told = limited_crawl(tmp_path, lambda _head: ok(b"leaf"), 64, *seeds)
    assert summary["run"]["pages"] == _HOSTS
    assert summary["run"]["retries"] == summary["run"]["failed"] == 0


def test_idle_viewers_take_nothing_from_a_crawl(tmp_path: Path) -> None:
    seeds = [f"http://h{n}.example/" for n in range(_HOSTS)]
    served = ["--serve", str(free_port()), "--config", f"crawl.metrics={free_port()}"]
    summary, told = limited_crawl(tmp_path, slow_leaf, 128, *seeds, *served)
    assert summary["run"]["pages"] == _HOSTS
    assert summary["run"]["retries"] == summary["run"]["failed"] == 0
    assert "Traceback" not in told


def test_a_request_without_an_open_file_waits_for_one_and_that_is_told_once() -> None:
    """The limit of this process falls below what it has open, and comes back."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    told: list[str] = []

    def tell(message: str) -> None:
        told.append(message)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    async def body() -> bytes:
        async with raw_server(lambda _head: ok(b"leaf")) as raw:
            settings = load(None, {"fetch": {"connect_to": [f"::127.0.0.1:{raw.port}"]}})
            async with Client(settings, notify=tell) as client:
                await asyncio.to_thread(len, "")  # its thread needs no file any more
                resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
                try:
                    return (await client.get("http://h.example/")).body
                finally:
                    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert asyncio.run(body()) == b"leaf"
    assert len(told) == 1
    assert "no open file left" in told[0]


def test_a_name_that_cannot_be_looked_up_for_want_of_an_open_file_is_no_fault_of_the_host() -> None:
    failure = aiohttp.ClientConnectorDNSError(
        None,  # type: ignore[arg-type] - only for its text
        socket.gaierror(socket.EAI_NONAME, "no name"),
    )
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert not open_files.is_shortage(failure)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        assert open_files.is_shortage(failure)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_viewer_for_whom_no_file_is_left_writes_no_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def body() -> None:
        where = Where("The live page", "127.0.0.1", 0, 9)
        with socket.socket() as viewer:
            async with listening(web.Application(), where) as port:
                resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
                try:
                    viewer.connect(("127.0.0.1", port))
                    await asyncio.sleep(0.1)
                finally:
                    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    asyncio.run(body())
    assert caplog.records == []

"""A worker of a crawl that fails once it has begun; those after it do not."""

import asyncio
import os
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from canonry.crawler.run.loop import Crawl
from canonry.crawler.run.workers import _work

FAILURES = "TEST_FAILURES"  # names a folder: each file in it lets one worker fail


def work_or_fail(plan: Any, pipe: Connection) -> None:  # noqa: ANN401 - as it comes
    """Work as a worker, or fail, while there are files that say so."""
    for file in Path(os.environ[FAILURES]).iterdir():
        try:
            file.unlink()
        except FileNotFoundError:  # another worker was faster
            continue
        Crawl.run = fail  # type: ignore[method-assign]
        break
    _work(plan, pipe)


async def fail(_crawl: Crawl) -> bool:
    """Fail after the first report of the progress."""
    await asyncio.sleep(0)
    raise RuntimeError("no such luck")

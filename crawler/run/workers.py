"""Workers: a crawl in this process, or in several that share one store."""

import asyncio
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from canonry.crawler.files.inputs import ListedSeed
from canonry.crawler.observe.progress import Progress, total
from canonry.crawler.run import wiring
from canonry.crawler.run.job.lease_owners import reclaim
from canonry.crawler.run.loop import Crawl
from canonry.crawler.run.process import forwarding
from canonry.crawler.settings import Settings
from canonry.storage import StoreError

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

_EVERY = 0.5  # seconds between two updates
_DEATHS = 5  # workers of one run that are replaced when they die, or fail


def crawl(
    seeds: Sequence[str],
    store: str,
    settings: Settings,
    *,
    listed: Sequence[ListedSeed] = (),
    options: Mapping[str, Any] = MappingProxyType({}),
    notify: Callable[[str], None],
    update: Callable[[Progress], None],
) -> wiring.CrawlResult:
    """Crawl with as many workers as the settings ask for.

    Workers share nothing but the store. When one dies or fails, its hosts are reclaimed and another
    worker is started. What fails before it has begun would fail again.

    Args:
        seeds: absolute URLs.
        store: a SQLAlchemy URL.
        settings: of the run.
        listed: further seeds, from lists.
        options: for a crawl that resumes this one, without secrets.
        notify: receives sentences for people.
        update: receives the progress twice a second.

    Raises:
        SettingsError, PolicyError, StoreError: as `canonry.crawler.run.wiring.crawl` does.
    """
    plan = _Plan(tuple(seeds), store, settings, tuple(listed), dict(options))
    if settings.crawl.workers == 1:
        return plan.crawl(notify, _watching(update))
    return _Workers(plan._replace(began=time.time()), notify, update).run()


def _watching(update: Callable[[Progress], None]) -> Callable[[Crawl], asyncio.Task[None]]:
    """Return a function that starts a task to report a run's progress at intervals."""

    def watch(run: Crawl) -> asyncio.Task[None]:
        async def report() -> None:
            while True:
                update(run.progress)
                await asyncio.sleep(_EVERY)

        return asyncio.create_task(report())

    return watch


class _Plan(NamedTuple):
    """What each worker is to do."""

    seeds: tuple[str, ...]
    store: str
    settings: Settings
    listed: tuple[ListedSeed, ...]
    options: dict[str, Any]
    began: float | None = None  # for all workers; seconds since 1970

    def crawl(
        self, notify: Callable[[str], None], watch: Callable[[Crawl], object]
    ) -> wiring.CrawlResult:
        """Do it in this process."""
        run = wiring.crawl(
            self.seeds,
            self.store,
            self.settings,
            listed=self.listed,
            options=self.options,
            began=self.began,
            notify=notify,
            watch=watch,
        )
        return asyncio.run(run)


class _Workers:
    """Worker processes, and the latest message of each."""

    def __init__(
        self, plan: _Plan, notify: Callable[[str], None], update: Callable[[Progress], None]
    ) -> None:
        self._plan = plan
        self._notify = notify
        self._notified: set[str] = set()
        self._update = update
        self._processes: dict[Connection, BaseProcess] = {}
        self._progress: dict[Connection, Progress] = {}
        self._results: list[wiring.CrawlResult] = []
        self._failed: dict[Connection, Exception] = {}  # workers that are about to end
        self._errors: list[Exception] = []  # of those that are not replaced
        self._interrupted = False
        self._deaths = 0

    def run(self) -> wiring.CrawlResult:
        """Start all workers, and receive their messages until the last one has ended."""
        with forwarding(self._interrupt):
            for _ in range(self._plan.settings.crawl.workers):
                self._start()
            while self._processes:
                for pipe in wait(list(self._processes), _EVERY):
                    assert isinstance(pipe, Connection)  # noqa: S101 - nothing else was given
                    self._receive(pipe)
                self._update(total(self._progress.values()))
        if self._errors:
            raise self._errors[0]
        if not self._results:
            if self._interrupted:
                raise KeyboardInterrupt
            raise StoreError("all workers died; the same command resumes")
        return self._results[-1]._replace(  # others may have ended while seeds were queued
            finished=all(result.finished for result in self._results) and not self._interrupted,
            seconds=max(result.seconds for result in self._results),
            progress=total(self._progress.values()),
        )

    def _start(self) -> None:
        """Start a worker."""
        spawning = multiprocessing.get_context("spawn")
        ours, theirs = spawning.Pipe(duplex=False)
        process = spawning.Process(target=_work, args=(self._plan, theirs))
        process.start()
        theirs.close()
        self._processes[ours] = process

    def _receive(self, pipe: Connection) -> None:
        """Receive a worker's message; the end of its pipe means that the worker has ended."""
        try:
            message = pipe.recv()
        except (EOFError, OSError):
            process = self._processes.pop(pipe)
            process.join()
            error = self._failed.pop(pipe, None)
            may_replace = not self._interrupted and (error is None or pipe in self._progress)
            if error is not None and (not may_replace or self._deaths >= _DEATHS):
                self._errors.append(error)
            if process.exitcode != 0 and may_replace:
                self._replace(process.exitcode, error)
            return
        if isinstance(message, Progress):
            self._progress[pipe] = message
        elif isinstance(message, str):
            if message not in self._notified:  # every worker reports what concerns them all
                self._notified.add(message)
                self._notify(message)
        elif isinstance(message, wiring.CrawlResult):
            self._results.append(message)
            self._progress[pipe] = message.progress
        elif isinstance(message, Exception):
            self._failed[pipe] = message

    def _replace(self, code: int | None, error: Exception | None) -> None:
        """Reclaim the hosts of a worker that died, and replace it unless too many have died."""
        self._deaths += 1
        again = self._deaths <= _DEATHS
        cause = f"died (exit code {code})"
        if error is not None:
            cause = f"failed ({type(error).__name__}: {error})"
        self._notify(
            f"A worker {cause}; " + ("another takes its place." if again else "the others go on.")
        )
        with suppress(StoreError):  # then its leases just expire
            reclaim(self._plan.store, self._plan.settings.longest_delay)
        if again:
            self._start()

    def _interrupt(self, number: int) -> None:
        """Forward a signal: workers stop after the requests in flight, or at once on the second."""
        self._interrupted = True
        for process in self._processes.values():
            if process.pid is not None and process.is_alive():
                with suppress(ProcessLookupError):
                    os.kill(process.pid, number)


def _work(plan: _Plan, pipe: Connection) -> None:
    """Crawl in a process of its own, and send messages to the first process."""
    os.setpgrp()  # so that a terminal's Ctrl-C comes only once, from the first process

    def notify(message: str) -> None:
        with suppress(OSError):  # the first process is gone
            pipe.send(message)

    def watch(run: Crawl) -> asyncio.Task[None]:
        def send(progress: Progress) -> None:
            try:
                pipe.send(progress)
            except OSError:  # the first process is gone
                run.stop()

        return _watching(send)(run)

    try:
        result = plan.crawl(notify, watch)
    except Exception as error:  # noqa: BLE001 - the first process raises it
        with suppress(OSError):
            pipe.send(error)
        sys.exit(1)
    except KeyboardInterrupt:
        pass
    else:
        with suppress(OSError):
            pipe.send(result)

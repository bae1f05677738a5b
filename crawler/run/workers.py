"""Workers: a crawl in this process, or in several that share one store."""

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING

from canonry.crawler.observe.progress import Progress, total
from canonry.crawler.run import wiring
from canonry.crawler.run.loop import Crawl
from canonry.crawler.settings import Settings
from canonry.storage import StoreError

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

_EVERY = 0.5  # seconds
_DEATHS = 5  # of workers in one run, after which none takes a dead one's place


def crawl(
    seeds: Sequence[str],
    store: str,
    settings: Settings,
    *,
    notify: Callable[[str], None],
    update: Callable[[Progress], None],
) -> wiring.CrawlResult:
    """Crawl with as many workers as the settings ask for.

    Workers share nothing but the store. One that dies leaves its hosts to the others, and another
    takes its place.

    Args:
        seeds: absolute URLs.
        store: a SQLAlchemy URL.
        settings: what holds.
        notify: receives sentences for people.
        update: is told twice a second where the run stands.

    Raises:
        SettingsError, PolicyError, StoreError: as `canonry.crawler.run.wiring.crawl` does.
    """
    if settings.crawl.workers == 1:
        run = wiring.crawl(seeds, store, settings, notify=notify, watch=_watching(update))
        return asyncio.run(run)
    return _Workers(seeds, store, settings, notify, update).run()


def _watching(update: Callable[[Progress], None]) -> Callable[[Crawl], asyncio.Task[None]]:
    """Return what has an update made of a run's progress, again and again."""

    def watch(run: Crawl) -> asyncio.Task[None]:
        async def tell() -> None:
            while True:
                update(run.progress)
                await asyncio.sleep(_EVERY)

        return asyncio.create_task(tell())

    return watch


class _Workers:
    """Processes, and what was heard of each."""

    def __init__(
        self,
        seeds: Sequence[str],
        store: str,
        settings: Settings,
        notify: Callable[[str], None],
        update: Callable[[Progress], None],
    ) -> None:
        self._seeds = tuple(seeds)
        self._store = store
        self._settings = settings
        self._notify = notify
        self._said: set[str] = set()
        self._update = update
        self._processes: dict[Connection, BaseProcess] = {}
        self._progress: dict[Connection, Progress] = {}
        self._results: list[wiring.CrawlResult] = []
        self._errors: list[Exception] = []
        self._asked_to_stop = False
        self._died = 0

    def run(self) -> wiring.CrawlResult:
        """Start all workers, and hear them until the last one has ended."""
        with self._signals():
            for _ in range(self._settings.crawl.workers):
                self._start()
            while self._processes:
                for pipe in wait(list(self._processes), _EVERY):
                    assert isinstance(pipe, Connection)  # noqa: S101 - nothing else was given
                    self._hear(pipe)
                self._update(total(self._progress.values()))
        if self._errors:
            raise self._errors[0]
        if not self._results:
            if self._asked_to_stop:
                raise KeyboardInterrupt
            raise StoreError("all workers died; the same command resumes")
        return wiring.CrawlResult(
            all(result.finished for result in self._results) and not self._asked_to_stop,
            max(result.seconds for result in self._results),
            total(self._progress.values()),
        )

    def _start(self) -> None:
        """Start a worker."""
        spawning = multiprocessing.get_context("spawn")
        ours, theirs = spawning.Pipe(duplex=False)
        process = spawning.Process(
            target=_work, args=(self._seeds, self._store, self._settings, theirs)
        )
        process.start()
        theirs.close()
        self._processes[ours] = process

    def _hear(self, pipe: Connection) -> None:
        """Take in what a worker says, or that it is gone."""
        try:
            word = pipe.recv()
        except (EOFError, OSError):
            process = self._processes.pop(pipe)
            process.join()
            if process.exitcode != 0 and not self._asked_to_stop:
                self._replace(process.exitcode)
            return
        if isinstance(word, Progress):
            self._progress[pipe] = word
        elif isinstance(word, str):
            if word not in self._said:  # all of them say the same of what concerns all
                self._said.add(word)
                self._notify(word)
        elif isinstance(word, wiring.CrawlResult):
            self._results.append(word)
            self._progress[pipe] = word.progress
        elif isinstance(word, Exception):
            self._errors.append(word)

    def _replace(self, code: int | None) -> None:
        """Take the hosts of a worker that died from it, and start another; not for ever."""
        self._died += 1
        again = self._died <= _DEATHS
        self._notify(
            f"A worker died (exit code {code}); "
            + ("another takes its place." if again else "those that are left go on.")
        )
        with suppress(StoreError):  # else its leases run out
            wiring.take_from_the_dead(self._store, self._settings.crawl.delay)
        if again:
            self._start()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Hand Ctrl-C on to the workers: they stop after what is in flight, or, twice, at once."""

        def forward(number: int, _frame: object) -> None:
            self._asked_to_stop = True
            for process in self._processes.values():
                if process.pid is not None and process.is_alive():
                    with suppress(ProcessLookupError):
                        os.kill(process.pid, number)

        before = {n: signal.signal(n, forward) for n in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _work(seeds: Sequence[str], store: str, settings: Settings, pipe: Connection) -> None:
    """Crawl in a process of its own, and tell the first one about it."""
    os.setpgrp()  # so that a terminal's Ctrl-C comes once, from the first process

    def notify(message: str) -> None:
        with suppress(OSError):  # the first process is gone
            pipe.send(message)

    def watch(run: Crawl) -> asyncio.Task[None]:
        def send(progress: Progress) -> None:
            try:
                pipe.send(progress)
            except OSError:  # nobody is there to end this run
                run.stop()

        return _watching(send)(run)

    try:
        result = asyncio.run(wiring.crawl(seeds, store, settings, notify=notify, watch=watch))
    except Exception as error:  # noqa: BLE001 - the first process raises it
        with suppress(OSError):
            pipe.send(error)
    except KeyboardInterrupt:
        pass
    else:
        with suppress(OSError):
            pipe.send(result)

"""From lines to keys: blocks of lines canonicalized in bulk, in worker processes."""

import hashlib
import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from canonry.canon import Canonicalizer, Policy, Refused, RuleSet
from canonry.crawler.admission.scope import host_of
from canonry.crawler.batch.partition import Numbers
from canonry.crawler.files.blocks import Block

_AHEAD = 3  # blocks in work for each worker
FEW = 1 << 23  # bytes; workers would take longer to start than to do that


class Keyed(NamedTuple):
    """What came of a block of lines: rows for those that are URLs, and the fate of the others."""

    keys: bytes
    texts: bytes
    places: Numbers  # within the block
    blank: list[int]
    refused: list[tuple[int, str]]
    hosts: Counter[str]  # where a report asks for it


_maker: list[tuple[Canonicalizer, bool]] = []  # of a worker process


def _prepare(policy: Policy, rules: str | None, hosts: bool) -> None:  # noqa: FBT001 - by the pool
    """Make a worker ready; Ctrl-C is for the process that has the files."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _maker[:] = [(Canonicalizer(policy, rules), hosts)]


def _end_with_parent() -> None:
    """End a worker whose parent was killed: nobody would tell it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _in_worker(block: Block) -> Keyed:
    canonicalizer, hosts = _maker[0]
    return keyed(block, canonicalizer, hosts=hosts)


def keyed(block: Block, canonicalizer: Canonicalizer, *, hosts: bool = False) -> Keyed:
    """Canonicalize lines and return their keys; count their hosts where that is asked for."""
    keys, texts, known = _hashed(block, canonicalizer, hosts=hosts)
    known[list(block.refused)] = 0
    counted: Counter[str] = Counter()
    blank: list[int] = []
    refused: list[tuple[int, str]] = []
    more: list[int] = []
    more_keys: list[bytes] = []
    left = np.flatnonzero(known == 0).tolist()
    lines = block.lines() if left else []
    for place, found in zip(left, canonicalizer.many([lines[n] for n in left]), strict=True):
        if place in block.refused:
            refused.append((place, block.refused[place]))
        elif not isinstance(found, Refused):
            more.append(place)
            more_keys.append(found.key)
            if hosts:
                counted[host_of(found.identity)] += 1
        elif not lines[place] or lines[place].isspace():
            blank.append(place)
        else:
            refused.append((place, found.reason.name.lower()))
    keys[more] = np.frombuffer(b"".join(more_keys), "V16")
    known[more] = 1
    places = np.flatnonzero(known)
    if len(places) < len(known):
        keys, texts = keys[places], texts[places]
    return Keyed(keys.tobytes(), texts.tobytes(), places.astype(np.uint64), blank, refused, counted)


def _hashed(
    block: Block, canonicalizer: Canonicalizer, *, hosts: bool
) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void], npt.NDArray[np.uint8]]:
    """Return, for each line, its key where that is known, a hash of it, and whether it is."""
    native = canonicalizer.native
    if native is not None and not hosts:  # who counts hosts needs identities, too
        made = native.lines(block.data)
        keys, texts = np.frombuffer(made[0], "V16").copy(), np.frombuffer(made[1], "V8")
        return keys, texts, np.frombuffer(made[2], np.uint8).copy()
    hashed = hashlib.blake2b
    spelled = b"".join([hashed(line, digest_size=8).digest() for line in block.lines()])
    texts = np.frombuffer(spelled, "V8")
    return np.zeros(len(texts), "V16"), texts, np.zeros(len(texts), np.uint8)


def in_order(
    given: Iterator[Block],
    policy: Policy,
    rules: RuleSet | None,
    workers: int,
    *,
    hosts: bool,
) -> Iterator[tuple[Block, Keyed]]:
    """Key blocks in worker processes, in order; in this one where that is no slower."""
    canonicalizer = Canonicalizer(policy, rules)
    seen = 0
    while workers == 1 or seen < FEW:
        block = next(given, None)
        if block is None:
            return
        seen += len(block.data)
        yield block, keyed(block, canonicalizer, hosts=hosts)
    text = None if rules is None else rules.dumps()
    context = multiprocessing.get_context("forkserver")
    pool = ProcessPoolExecutor(workers, context, _prepare, (policy, text, hosts))
    try:
        with _uninterrupted():
            pool.submit(os.getpid)  # the first one starts all workers
        waiting: deque[tuple[Block, Future[Keyed]]] = deque()
        for block in given:
            waiting.append((block, pool.submit(_in_worker, block)))
            if len(waiting) > _AHEAD * workers:
                first, future = waiting.popleft()
                yield first, future.result()
        while waiting:
            first, future = waiting.popleft()
            yield first, future.result()
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C while a pool starts: broken off in that, it would not wait for its workers."""
    if threading.current_thread() is not threading.main_thread():  # which alone has signals
        yield
        return
    caught: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: caught.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if caught:
        signal.raise_signal(signal.SIGINT)


def default_workers() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

"""Lines to keys: blocks of lines are canonicalized in bulk, in threads or processes."""

import hashlib
import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from canonry.canon import Canonicalizer, Policy, Refused
from canonry.crawler.admission.scope import host_of
from canonry.crawler.batch.dedup_job import Plan
from canonry.crawler.batch.key_set import chosen, selected, tally
from canonry.crawler.batch.partition import Numbers
from canonry.crawler.batch.preference import Preference
from canonry.crawler.files.blocks import Block
from canonry.crawler.files.line_streams import ahead

_AHEAD = 3  # blocks in work for each worker
FEW = 1 << 23  # bytes; keying these takes less time than starting workers


class Keyed(NamedTuple):
    """The keys of a block's URLs, and the lines that have none."""

    keys: bytes  # 16 for each URL
    texts: bytes  # 8 for each URL: a hash of its spelling; zeros if that is canonical
    places: Numbers  # of the URLs, within the block
    blank: list[int]
    refused: list[tuple[int, str]]  # place and reason
    hosts: Counter[str]  # empty unless asked for
    ends: bytes = b""  # of all lines, as a block has them; empty if the kernel did not see them
    ranks: bytes = b""  # of the URLs, if a line is preferred to others


_maker: list[tuple[Canonicalizer, bool, Preference | None]] = []  # of a worker process


def _prepare(
    policy: Policy,
    rules: str | None,
    hosts: bool,  # noqa: FBT001 - by the pool
    prefer: Preference | None,
) -> None:
    """Prepare a worker process; the parent, which has the files, handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _maker[:] = [(Canonicalizer(policy, rules), hosts, prefer)]


def _end_with_parent() -> None:
    """Exit when the parent is killed, because nothing else would stop this worker."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _in_worker(block: Block) -> Keyed:
    canonicalizer, hosts, prefer = _maker[0]
    return keyed(block, canonicalizer, hosts=hosts, prefer=prefer)


def keyed(
    block: Block,
    canonicalizer: Canonicalizer,
    *,
    hosts: bool = False,
    prefer: Preference | None = None,
) -> Keyed:
    """Canonicalize lines and return their keys; count their hosts, and rank them, if asked to."""
    keys, texts, has_key, ends, counted = _hashed(block, canonicalizer, hosts=hosts)
    has_key[list(block.refused)] = 0
    blank: list[int] = []
    refused: list[tuple[int, str]] = []
    more: list[int] = []
    more_keys: list[bytes] = []
    is_left = has_key == 0
    left = np.flatnonzero(is_left).tolist()
    lines = chosen(block._replace(ends=ends), is_left) if left else []
    for place, line, answer in zip(left, lines, canonicalizer.many(lines), strict=True):
        if place in block.refused:
            refused.append((place, block.refused[place]))
        elif not isinstance(answer, Refused):
            more.append(place)
            more_keys.append(answer.key)
            if hosts:
                counted[host_of(answer.identity)] += 1
        elif not line or line.isspace():
            blank.append(place)
        else:
            refused.append((place, answer.reason.name.lower()))
    keys[more] = np.frombuffer(b"".join(more_keys), "V16")
    has_key[more] = 1
    places = np.flatnonzero(has_key)
    if len(places) < len(has_key):
        keys, texts = keys[places], texts[places]
    numbers = places.astype(np.uint64)
    spelled = texts.tobytes()
    ranks = b"" if prefer is None else prefer.ranks(block, numbers, spelled)
    return Keyed(keys.tobytes(), spelled, numbers, blank, refused, counted, ends, ranks)


def _hashed(
    block: Block, canonicalizer: Canonicalizer, *, hosts: bool
) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void], npt.NDArray[np.uint8], bytes, Counter[str]]:
    """Return for each line its key, a hash of its spelling, and whether the key is known yet.

    Also return the ends of lines (b"" if not known), and the hosts of known keys if wanted.
    """
    native = canonicalizer.native
    if native is not None:
        made = native.lines(block.data, block.size, hosts)
        keys, texts = np.frombuffer(made[0], "V16").copy(), np.frombuffer(made[1], "V8")
        known = np.frombuffer(made[2], np.uint8).copy()
        counted = Counter(tally(_without(block.refused, made[4], known)))
        return keys, texts, known, made[3], counted
    hashed = hashlib.blake2b
    spelled = b"".join([hashed(line, digest_size=8).digest() for line in block.lines()])
    texts = np.frombuffer(spelled, "V8")
    return np.zeros(len(texts), "V16"), texts, np.zeros(len(texts), np.uint8), b"", Counter()


def _without(refused: Mapping[int, str], hosts: bytes, known: npt.NDArray[np.uint8]) -> bytes:
    """Return the hosts of the lines whose key is known, without those of refused lines."""
    if not refused or not hosts:
        return hosts
    lines = np.flatnonzero(known)
    all_hosts = Block("", 1, hosts[:-1], len(lines))
    return selected(all_hosts, ~np.isin(lines, list(refused)))


def in_order(blocks: Iterator[Block], plan: Plan) -> Iterator[tuple[Block, Keyed]]:
    """Key blocks in parallel, and yield them in order, each as soon as it is keyed.

    The compiled kernel works in threads, as it releases the GIL. Without it, processes key the
    blocks, and small inputs are keyed in this one.
    """
    if plan.canonicalizer.native is not None:
        return _in_threads(blocks, plan)
    return _in_processes(blocks, plan)


def _in_threads(blocks: Iterator[Block], plan: Plan) -> Iterator[tuple[Block, Keyed]]:
    pool = ThreadPoolExecutor(plan.workers, "canonry-key")

    def started() -> Iterator[tuple[Block, Future[Keyed]]]:
        for block in blocks:
            yield (
                block,
                pool.submit(
                    keyed, block, plan.canonicalizer, hosts=plan.report, prefer=plan.prefer
                ),
            )

    try:
        for block, future in ahead(started(), _AHEAD * plan.workers):
            found = future.result()
            yield block._replace(ends=found.ends), found
    finally:
        pool.shutdown(cancel_futures=True)


def _in_processes(blocks: Iterator[Block], plan: Plan) -> Iterator[tuple[Block, Keyed]]:
    canonicalizer, workers = plan.canonicalizer, plan.workers
    yield from _in_this_process(blocks, plan, None if workers == 1 else FEW)
    if (first := next(blocks, None)) is None:
        return
    blocks = chain([first], blocks)
    if not _has_semaphores():
        plan.notify(
            "canonry: processes cannot share semaphores here (is /dev/shm writable?), so one "
            "process does the work"
        )
        yield from _in_this_process(blocks, plan)
        return
    rules = None if canonicalizer.rules is None else canonicalizer.rules.dumps()
    context = multiprocessing.get_context("forkserver")
    setup = (canonicalizer.policy, rules, plan.report, plan.prefer)
    pool = ProcessPoolExecutor(workers, context, _prepare, setup)
    try:
        with _interrupts_held():
            pool.submit(os.getpid)  # the first task starts all workers
        waiting: deque[tuple[Block, Future[Keyed]]] = deque()
        for block in blocks:
            sent = block if plan.prefer is not None else block._replace(rows=None)
            waiting.append((block, pool.submit(_in_worker, sent)))
            if len(waiting) > _AHEAD * workers:
                first, future = waiting.popleft()
                yield first, future.result()
        while waiting:
            first, future = waiting.popleft()
            yield first, future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _in_this_process(
    blocks: Iterator[Block], plan: Plan, most: int | None = None
) -> Iterator[tuple[Block, Keyed]]:
    """Key blocks until they are over, or there were as many bytes as ``most``."""
    seen = 0
    while most is None or seen < most:
        block = next(blocks, None)
        if block is None:
            return
        seen += len(block.data)
        yield block, keyed(block, plan.canonicalizer, hosts=plan.report, prefer=plan.prefer)


def _has_semaphores() -> bool:
    """Return True if this machine has what a pool of processes waits by."""
    try:
        multiprocessing.get_context("fork").Semaphore()
    except (ImportError, OSError):
        return False
    return True


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Delay Ctrl-C while a pool starts; interrupted there, it would not wait for its workers."""
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
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

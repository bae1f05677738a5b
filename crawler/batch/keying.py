"""Lines to keys: blocks of lines are canonicalized in bulk, in threads or processes."""

import hashlib
import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, compress
from typing import NamedTuple

import numpy as np

from canonry.canon import Canonicalizer, Policy, Refused
from canonry.crawler.admission.scope import host_of
from canonry.crawler.batch.dedup_job import Plan
from canonry.crawler.batch.key_set import RuleBits, chosen
from canonry.crawler.batch.partition import Numbers
from canonry.crawler.batch.preference import Preference
from canonry.crawler.files.blocks import Block
from canonry.crawler.files.line_streams import ahead

_AHEAD = 3  # blocks in work for each worker
FEW = 1 << 23  # bytes; keying these takes less time than starting workers
UNTOLD, _NO_KEY = -1, -2  # of the rules of a line: the kernel does not know them, nor its key


class Keyed(NamedTuple):
    """The keys of a block's URLs, and the lines that have none."""

    keys: bytes  # 16 for each URL
    texts: bytes  # 8 for each URL: a hash of its spelling; zeros if that is canonical
    places: Numbers  # of the URLs, within the block
    rules: RuleBits  # those that gave each URL its identity, as `rules_named` reads them; or UNTOLD
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
    native = canonicalizer.native
    if native is not None:
        made, texts, bits, ends, named = native.lines(block.data, block.size, hosts)
        rules = np.frombuffer(bits, np.int32)
    else:
        hashed = hashlib.blake2b
        made, ends, named = bytes(16 * block.size), b"", b""
        texts = b"".join([hashed(line, digest_size=8).digest() for line in block.lines()])
        rules = np.full(block.size, _NO_KEY, np.int32)
    blank: list[int] = []
    refused: list[tuple[int, str]] = []
    is_left = rules == _NO_KEY
    known = named.decode().split("\n")[:-1]
    if block.refused:
        is_refused = np.zeros(block.size, np.bool_)
        is_refused[list(block.refused)] = True
        known = list(compress(known, ~is_refused[~is_left])) if known else known
        is_left |= is_refused
    counted = Counter(known)
    if is_left.any():
        keys, rules, has_key = np.frombuffer(made, "V16").copy(), rules.copy(), ~is_left
        left, lines = np.flatnonzero(is_left).tolist(), chosen(block._replace(ends=ends), is_left)
        for place, line, answer in zip(left, lines, canonicalizer.many(lines), strict=True):
            if place in block.refused:
                refused.append((place, block.refused[place]))
            elif not isinstance(answer, Refused):
                has_key[place], rules[place] = True, UNTOLD
                keys[place] = answer.key
                if hosts:
                    counted[host_of(answer.identity)] += 1
            elif not line or line.isspace():
                blank.append(place)
            else:
                refused.append((place, answer.reason.name.lower()))
        places = np.flatnonzero(has_key).astype(np.uint64)
        made, rules = keys[has_key].tobytes(), rules[has_key]
        texts = np.frombuffer(texts, "V8")[has_key].tobytes()
    else:
        places = np.arange(block.size, dtype=np.uint64)
    ranks = b"" if prefer is None else prefer.ranks(block, places, texts)
    return Keyed(made, texts, places, rules, blank, refused, counted, ends, ranks)


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

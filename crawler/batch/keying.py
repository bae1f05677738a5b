"""Lines to keys: blocks of lines are canonicalized in bulk, in threads."""

import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from canonry.canon import Canonicalizer, Refused
from canonry.crawler.batch.dedup_job import Job
from canonry.crawler.batch.key_set import RuleBits, chosen
from canonry.crawler.batch.partition import Numbers
from canonry.crawler.batch.preference import Preference
from canonry.crawler.files.blocks import Block
from canonry.crawler.files.line_streams import ahead

_AHEAD = 3  # blocks in work for each worker
UNTOLD, _NO_KEY = -1, -2  # of the rules of a line: the kernel does not know them, nor its key


class Keyed(NamedTuple):
    """The keys of a block's URLs, and the lines that have none."""

    keys: bytes  # 16 for each URL
    texts: bytes  # 8 for each URL: a hash of its spelling; zeros if that is canonical
    places: Numbers  # of the URLs, within the block
    rules: RuleBits  # those that gave each URL its identity, as `rules_named` reads them; or UNTOLD
    blank: list[int]
    refused: list[tuple[int, str]]  # place and reason
    ends: bytes = b""  # of all lines, as a block has them; empty if the kernel did not see them
    ranks: bytes = b""  # of the URLs, if a line is preferred to others


def keyed(block: Block, canonicalizer: Canonicalizer, *, prefer: Preference | None = None) -> Keyed:
    """Canonicalize lines and return their keys; rank them if asked to."""
    native = canonicalizer.native
    if native is not None:
        made, texts, bits, ends = native.lines(block.data, block.size)
        rules = np.frombuffer(bits, np.int32)
    else:
        hashed = hashlib.blake2b
        made, ends = bytes(16 * block.size), b""
        texts = b"".join([hashed(line, digest_size=8).digest() for line in block.lines()])
        rules = np.full(block.size, _NO_KEY, np.int32)
    blank: list[int] = []
    refused: list[tuple[int, str]] = []
    is_left = rules == _NO_KEY
    if block.refused:
        is_left[list(block.refused)] = True
    places = np.arange(block.size, dtype=np.uint64)
    if is_left.any():
        keys, rules, has_key = np.frombuffer(made, "V16").copy(), rules.copy(), ~is_left
        left, lines = np.flatnonzero(is_left).tolist(), chosen(block._replace(ends=ends), is_left)
        for place, line, answer in zip(left, lines, canonicalizer.many(lines), strict=True):
            if place in block.refused:
                refused.append((place, block.refused[place]))
            elif not isinstance(answer, Refused):
                has_key[place], rules[place] = True, UNTOLD
                keys[place] = answer.key
            elif not line or line.isspace():
                blank.append(place)
            else:
                refused.append((place, answer.reason.name.lower()))
        made, rules, places = keys[has_key].tobytes(), rules[has_key], places[has_key]
        texts = np.frombuffer(texts, "V8")[has_key].tobytes()
    ranks = b"" if prefer is None else prefer.ranks(block, places, texts)
    return Keyed(made, texts, places, rules, blank, refused, ends, ranks)


def in_order(blocks: Iterator[Block], job: Job) -> Iterator[tuple[Block, Keyed]]:
    """Key blocks in threads, and yield them in order, each as soon as it is keyed.

    The compiled kernel releases the GIL. What it cannot do, one thread does.
    """
    workers = 1 if job.canonicalizer.native is None else job.workers
    pool = ThreadPoolExecutor(workers, "canonry-key")

    def started() -> Iterator[tuple[Block, Future[Keyed]]]:
        for block in blocks:
            yield block, pool.submit(keyed, block, job.canonicalizer, prefer=job.prefer)

    try:
        for block, future in ahead(started(), _AHEAD * workers):
            found = future.result()
            yield block._replace(ends=found.ends), found
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # a second Ctrl-C in a wait would be lost


def default_workers() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

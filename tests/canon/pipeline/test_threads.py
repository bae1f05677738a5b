"""Threads share a canonicalizer: what one asks changes no answer of another."""

import sys
from array import array
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import accumulate
from threading import Barrier

import pytest

import canonry
from canonry.canon.pipeline import native

THREADS = 8
URLS = [
    f"HTTP://{host}.example:80/%7e{n}/../a b/{n}?utm_source=x&b={n}&a=%c3%bc#f{n}"
    for n in range(60)
    for host in ("www", "bücher", "xn--bcher-kva", "a_b")
]


@pytest.fixture(autouse=True)
def many_switches() -> Iterator[None]:
    """Let threads take turns as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("policy", ["web", "search", "archive", "rfc3986"])
def test_threads_get_the_answers_of_one(policy: str) -> None:
    alone = [found.key for found in map(canonry.Canonicalizer(policy).plain, URLS)]
    shared = canonry.Canonicalizer(policy)
    start = Barrier(THREADS)

    def work(turn: int) -> list[bytes]:
        start.wait()
        order = [*range(turn, len(URLS)), *range(turn)]
        many = list(shared.many([URLS[n] for n in order], "http://base.example/"))
        found = dict(zip(order, many, strict=True))
        assert [shared(URLS[n]) for n in order] == many
        return [found[n].key for n in range(len(URLS))]  # type: ignore[union-attr]

    with ThreadPoolExecutor(THREADS) as threads:
        assert list(threads.map(work, range(THREADS))) == [alone] * THREADS


def test_presets_are_read_once_by_threads_that_start_together() -> None:
    start = Barrier(THREADS)

    def work(_turn: int) -> str:
        start.wait()
        return canonry.canonicalize("http://a.example/?utm_source=x", policy="search")

    with ThreadPoolExecutor(THREADS) as threads:
        assert set(threads.map(work, range(THREADS))) == {"http://a.example/"}


@pytest.mark.skipif(native.VERSION == 0, reason="needs the compiled kernel")
def test_a_list_may_change_while_the_kernel_reads_it() -> None:
    web = canonry.Canonicalizer("web")
    assert web.native is not None
    urls = [*URLS] * 20
    start = Barrier(2)

    def change() -> None:
        start.wait()
        for n in range(len(urls)):
            urls[n] = f"http://new.example/{n}"
        urls.clear()

    with ThreadPoolExecutor(1) as threads:
        changing = threads.submit(change)
        start.wait()
        for _ in range(20):
            assert all(found is None or found.key for found in web.native.canonicals(urls))
            with suppress(TypeError):  # from one copy to the next, its length may change
                web.native.merging(urls, urls)
        changing.result()


@pytest.mark.skipif(native.VERSION == 0, reason="needs the compiled kernel")
@pytest.mark.parametrize("policy", ["web", "search", "archive"])
def test_threads_key_blocks_of_lines_at_the_same_time(policy: str) -> None:
    shared = canonry.Canonicalizer(policy).native
    assert shared is not None
    urls = [url for url in URLS if url.isascii()] * 40
    block = "\n".join(urls).encode()
    alone = shared.lines(block, len(urls))
    start = Barrier(THREADS)

    def work(_turn: int) -> tuple[bytes, ...]:
        start.wait()
        return shared.lines(block, len(urls))

    with ThreadPoolExecutor(THREADS) as threads:
        assert list(threads.map(work, range(THREADS))) == [alone] * THREADS


@pytest.mark.skipif(native.VERSION == 0, reason="needs the compiled kernel")
def test_threads_make_columns_at_the_same_time() -> None:
    shared = canonry.Canonicalizer("web").native
    assert shared is not None
    urls = [url.encode() for url in URLS] * 4
    data, ends = b"".join(urls), array("i", accumulate(map(len, urls), initial=0)).tobytes()
    start = Barrier(THREADS)

    def made() -> tuple[bytes, ...] | None:
        column = partial(shared.column, data, ends, False, None, 0, True, bytearray)  # noqa: FBT003
        return column(lambda row: (urls[row], bytes(16)))

    def work(_turn: int) -> tuple[bytes, ...] | None:
        start.wait()
        return made()

    with ThreadPoolExecutor(THREADS) as threads:
        assert list(threads.map(work, range(THREADS))) == [made()] * THREADS

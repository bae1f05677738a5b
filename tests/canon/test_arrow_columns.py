"""Arrow columns through the kernel give what one call for each URL gives, whatever their layout."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import anything
from support.tables import each

import canonry
from canonry.canon.pipeline.native import VERSION

MAKE = canonry.Canonicalizer("web")
URLS = ["http://A.example/%7eb", None, "http://[", "https://b.example/?utm_source=x", "", "x:y"]
TYPES = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view()]


def column(
    data: bytes,
    offsets: bytes,
    *,
    wide: bool = False,
    valid: bytes | None = None,
    first: int = 0,
    allocate: Callable[[int], Any] = bytearray,
    otherwise: object = None,
) -> tuple[bytes, bytes, bytes, bytes]:
    """Call the kernel, which takes no names; return texts, offsets, keys and bits."""
    assert MAKE.native is not None
    answer: Any = otherwise
    found = MAKE.native.column(data, offsets, wide, valid, first, True, allocate, answer)  # noqa: FBT003
    assert found is not None
    texts, size, *rest = found
    return bytes(texts[:size]), *map(bytes, rest)


def expected(url: str | bytes | None) -> tuple[str | None, bytes | None, str | None]:
    if url is None:
        return None, None, None
    try:
        found = MAKE.plain(url)
    except canonry.InvalidURL as error:
        return None, None, error.reason.name
    return found.identity, found.key, None


def rows(urls: object) -> list[tuple[str | None, bytes | None, str | None]]:
    columns = ("identity", "key", "reason")
    found = canonry.columns.canonicalize(urls, columns=columns)
    assert isinstance(found, pa.Table)
    found.validate(full=True)
    return [tuple(row[name] for name in columns) for row in found.to_pylist()]


@each("kind", TYPES)
@each("first", [0, 1, 3, 5, 6])
def test_every_type_and_every_slice(kind: pa.DataType, first: int) -> None:
    given_urls = pa.array(URLS).cast(kind)[first:]
    assert rows(given_urls) == [expected(url) for url in URLS[first:]]


@given(st.lists(st.none() | anything, max_size=8), st.integers(0, 3))
@settings(max_examples=200)
def test_columns_equal_the_plain_pipeline(urls: list[str | None], first: int) -> None:
    texts = [None if url is None else url.encode("utf-8", "surrogateescape") for url in urls]
    given_urls = pa.array(texts, pa.binary())[first:]
    assert rows(given_urls) == [expected(url) for url in texts[first:]]


def test_what_lies_behind_a_missing_value_is_not_read() -> None:
    """A null may cover any bytes."""
    offsets = pa.py_buffer(np.array([0, 10, 20], np.int32).tobytes())
    data = pa.py_buffer(b"http://a/1http://a/2")
    given_urls = pa.Array.from_buffers(pa.string(), 2, [pa.py_buffer(b"\x02"), offsets, data])
    assert rows(given_urls) == [(None, None, None), expected("http://a/2")]


@pytest.mark.skipif(not VERSION, reason="needs the compiled kernel")
@pytest.mark.parametrize(
    ("offsets", "data"),
    [([0, 9], b"short"), ([3, 1], b"http://a/1"), ([-1, 3], b"abc"), ([], b"")],
)
def test_the_kernel_refuses_broken_offsets(offsets: list[int], data: bytes) -> None:
    for wide, kind in ((True, np.int64), (False, np.int32)):
        with pytest.raises(ValueError, match="offsets have to increase"):
            column(data, np.array(offsets, kind).tobytes(), wide=wide)
    with pytest.raises(ValueError, match="offsets have to increase"):
        column(b"", b"123")
    with pytest.raises(ValueError, match="each row needs a bit"):
        column(b"", bytes(4 * 10), valid=b"\xff")
    with pytest.raises(ValueError, match="each row needs a bit"):
        column(b"", bytes(4 * 8), valid=b"\xff", first=-1)


@pytest.mark.skipif(not VERSION, reason="needs the compiled kernel")
@pytest.mark.parametrize(
    "answer", [(b"x", b"short"), (b"x", bytes(17)), ("x", bytes(16)), (b"x",), 1], ids=repr
)
def test_the_kernel_refuses_broken_answers(answer: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        column(b"x:y", np.array([0, 3], np.int32).tobytes(), otherwise=lambda _row: answer)


@pytest.mark.skipif(not VERSION, reason="needs the compiled kernel")
def test_the_kernel_refuses_memory_that_it_cannot_use() -> None:
    def failing(_size: int) -> bytearray:
        raise MemoryError

    offsets = np.array([0, 3], np.int32).tobytes()
    wrong: list[tuple[Callable[[int], Any], type[Exception]]] = [
        (bytes, BufferError), (lambda size: bytearray(size + 1), ValueError),
        (lambda size: bytearray(size - 1), ValueError), (failing, MemoryError), (str, TypeError),
    ]  # fmt: skip
    for allocate, error in wrong:
        for late in range(4):
            made = [bytearray] * late + [allocate]
            with pytest.raises(error):
                column(b"x:y", offsets, allocate=lambda size, made=made: made.pop(0)(size))
    for allocate, error in wrong:  # when there is no room left
        made = [bytearray] * 4 + [allocate]
        with pytest.raises(error):
            column(
                b"x:y",
                offsets,
                allocate=lambda size, made=made: made.pop(0)(size),
                otherwise=lambda _row: (b"z" * 90_000, bytes(16)),
            )


@pytest.mark.skipif(not VERSION, reason="needs the compiled kernel")
def test_identities_that_are_longer_than_their_urls_have_room() -> None:
    """Each character becomes an escape of three."""
    urls = [b"http://a.example/" + b"\xff" * size for size in (1, 2000, 3, 70_000, 0)] + [b"x:y"]
    ends = np.cumsum([0, *map(len, urls)]).astype(np.int32).tobytes()
    texts, places, keys, bits = column(
        b"".join(urls), ends, otherwise=lambda _row: (b"z" * 900_000, b"k" * 16)
    )
    answers = [*(MAKE.identity(url).encode() for url in urls[:-1]), b"z" * 900_000]
    assert texts == b"".join(answers)
    assert np.frombuffer(places, np.int32).tolist() == np.cumsum([0, *map(len, answers)]).tolist()
    assert keys == b"".join(MAKE(url).key for url in urls[:-1]) + b"k" * 16
    assert bits == b"\x3f"


@pytest.mark.parametrize("threads", [1, 4])
def test_a_column_of_many_parts_keeps_its_order(threads: int) -> None:
    urls = [f"http://a.example/{n}" if n % 7 else f"HTTP://É.example/{n}" for n in range(70_000)]
    urls[40_000] = "http://["
    before = pa.cpu_count()
    pa.set_cpu_count(threads)
    try:
        found = canonry.columns.canonicalize(pa.array(urls), columns=["reason", "identity"])
    finally:
        pa.set_cpu_count(before)
    assert isinstance(found, pa.Table)
    assert found.column_names == ["reason", "identity"]
    right = [MAKE.identity(url) if url != "http://[" else None for url in urls]
    assert found["identity"].to_pylist() == right
    assert found["reason"].to_pylist() == [None if one else "HOST" for one in right]


RULES = [
    canonry.LearnedRule(host="b.example", family="trailing-slash", new="bare"),
    canonry.LearnedRule(host="a.example", family="parameter-irrelevant", old="s"),
    canonry.LearnedRule(host="a.example", family="host-alias", new="b.example"),
]
ODD_ORIGINS = [
    "mailto:a@b.example",
    "http://[::1]:8080/a",
    "https://1.2.3.4/?b%2Fc&a",
    "//x",
    "ftp://b.example/a/",
]


@pytest.mark.parametrize("policy", ["web", "search", "archive", "rfc3986"])
@pytest.mark.parametrize("has_rules", [False, True])
@given(urls=st.lists(st.none() | anything | st.sampled_from(ODD_ORIGINS), max_size=8))
@settings(max_examples=60)
def test_surts_and_learned_rules_are_those_of_single_urls(
    policy: str, *, has_rules: bool, urls: list[str | None]
) -> None:
    some = ["http://a.example:80/b/?s=1&t=%c3", "http://u@b.example/c/", "https://B.example:81/c/"]
    made = canonry.Canonicalizer(policy)
    rules = canonry.RuleSet(RULES, made.policy.label) if has_rules else None
    if rules is not None:
        made = canonry.Canonicalizer(policy, rules)
    texts = [None if url is None else url.encode("utf-8", "surrogateescape") for url in urls]
    texts += [url.encode() for url in some]
    wanted = ["surt", "identity", "key"]
    found = canonry.columns.canonicalize(
        pa.array(texts, pa.binary()), policy=policy, rules=rules, columns=wanted
    )
    assert isinstance(found, pa.Table)
    found.validate(full=True)
    for text, row in zip(texts, found.to_pylist(), strict=True):
        [one] = made.many([text or b""])
        if isinstance(one, canonry.Refused):
            assert row == dict.fromkeys(wanted)
        else:
            expected_surt = made.surt_of(one.identity)
            assert row == {"surt": expected_surt, "identity": one.identity, "key": one.key}
    as_list = canonry.columns.canonicalize(texts, policy=policy, rules=rules, columns=wanted)
    assert isinstance(as_list, canonry.columns.Columns)
    assert [as_list.surt, as_list.identity, as_list.key] == [
        found[name].to_pylist() for name in wanted
    ]

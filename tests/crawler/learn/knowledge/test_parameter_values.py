"""The values of parameters: which look like the identifiers of sessions."""

import random
import string

import pytest

from canonry.crawler.learn.knowledge.parameter_values import ParameterValues


def seen(values: list[str], links: int = 1) -> ParameterValues:
    """Return what is remembered of values, each on so many links of a page of its own."""
    found = ParameterValues()
    for page, value in enumerate(values):
        for _ in range(links):
            found.add(value, page)
    return found


def tokens(alphabet: str, length: int, count: int = 12) -> list[str]:
    random_one = random.Random(7)
    return ["".join(random_one.choices(alphabet, k=length)) for _ in range(count)]


@pytest.mark.parametrize(
    "values",
    [
        tokens("0123456789abcdef", 32),
        tokens("0123456789ABCDEF", 16),
        tokens(string.ascii_lowercase + string.digits, 26),
        tokens(string.ascii_letters + string.digits + "-_", 22),
        tokens(string.ascii_letters + string.digits, 8),
        tokens(string.ascii_letters, 20),
        tokens(string.digits, 13),
        [f"{one[:8]}-{one[8:12]}-{one[12:]}" for one in tokens("0123456789abcdef", 32)],
        [f"{one}.node2" for one in tokens("0123456789ABCDEF", 32)],
    ],
)
def test_random_values_look_like_sessions(values: list[str]) -> None:
    assert seen(values).look_like_sessions()
    assert seen(values, links=20).look_like_sessions(), "all links of a page have one value"
    assert not seen(values[:3]).look_like_sessions(), "three are too few"
    assert not seen(values * 2).look_like_sessions(), "they come back on other pages"


@pytest.mark.parametrize(
    "values",
    [
        [str(number) for number in range(1, 200)],
        [f"2024-01-{day:02}" for day in range(1, 31)],
        [f"202401{day:02}" for day in range(1, 31)],
        ["electronics-and-phones", "garden-furniture", "children-books", "cameras", "kitchen"],
        [f"winter-jacket-{number}" for number in range(30)],
        [f"SKU-2024-{number:05}" for number in range(30)],
        [f"{number}.99" for number in range(30)],
        ["en", "de", "fr", "pt-br", "zh-hant", "es-419"],
        ["", "", "", "", ""],
        [],
    ],
)
def test_words_and_numbers_do_not(values: list[str]) -> None:
    assert not seen(values).look_like_sessions()


def test_memory_is_bounded() -> None:
    found = seen([str(number) for number in range(5000)])
    assert len(found._sources) <= 64  # noqa: SLF001 - a bound is what is asked for
    assert found.different == 5000

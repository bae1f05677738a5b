"""Formats of which every line is a record: the URLs of many lines are those of each line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.crawler.files.line_formats import of_jsonl

_LINES = [
    '{"url":"http://a.example/"}', '{"url": "b", "z": [1, {"url": "c"}]} ', '{"a":{"url":"d"}}',
    '{"url":"é"}', '{"url":"\\u00e9"}', '{"a":{"url":"x"},"url":"y"}',
]  # fmt: skip
_ODD = [
    '{"url":"e"}{"url":"f"}', '{"url":"g"},{"url":"h"}', '{"url":"i",', '"z":{}}', '{"z":{"y":1}',
    '{"url":"\\n"}', '{"url":"\\ud800"}', '{"url":1}', "{}", "", " ", "[]", "{", "}", '{"z":"a}',
    '{b","url":"x"}', '{"url":"j"}x',
]  # fmt: skip


@given(st.lists(st.sampled_from(_LINES) | st.sampled_from(_ODD), min_size=1, max_size=6))
@pytest.mark.parametrize("column", ["url", "a.url", None])
def test_many_records_have_the_urls_of_each(column: str | None, lines: list[str]) -> None:
    """Or no answer, and each is looked at by itself."""
    picks = of_jsonl(b"", column)
    data = [line.encode() for line in lines]
    assert picks.all is not None
    found = picks.all(b"\n".join(data), len(data))
    if found is not None:
        assert found.split(b"\n") == [picks.one(line) for line in data]


@pytest.mark.parametrize("column", ["url", "a.url"])
def test_plain_records_are_looked_at_together(column: str) -> None:
    picks = of_jsonl(b"", column)
    line = b'{"a":{"url":"x"},"url":"y","z":[{}]}'
    assert picks.all is not None
    assert picks.all(b"\n".join([line] * 3), 3) == b"\n".join([picks.one(line) or b""] * 3)
    assert picks.all(line, 2) is None

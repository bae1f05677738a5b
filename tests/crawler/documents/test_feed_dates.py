"""Dates in sitemaps and feeds, and the entries that they belong to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tables import each

from canonry.crawler.documents import feeds
from canonry.crawler.documents.feeds import seconds_of

DAY = 1_709_164_800.0  # 2024-02-29


@each(
    ("text", "seconds"),
    [
        ("2024-02-29", DAY),
        ("2024-03", DAY + 86_400),
        ("2024", DAY - 59 * 86_400),
        ("2024-02-29T01:00Z", DAY + 3_600),
        (" 2024-02-29T01:00:30+01:00\n", DAY + 30),
        ("2024-02-29T00:00:00.25Z", DAY + 0.25),
        ("2024-02-29 00:00:05", DAY + 5),
        ("Thu, 29 Feb 2024 02:00:00 +0200", DAY),
        ("29 Feb 24 00:00 GMT", DAY),
        ("Thu, 29 Feb 2024 00:00:00 EST", DAY + 5 * 3_600),
        ("2023-02-29", None),
        ("2024-13", None),
        ("0000", None),
        ("yesterday", None),
        ("", None),
        ("1" * 100, None),
    ],
)
def test_dates(text: str, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


@given(st.text())
def test_any_text_is_a_date_or_none(text: str) -> None:
    assert isinstance(seconds_of(text), float | None)


_SITEMAP = """
<urlset><url><loc>http://h.example/1</loc><lastmod>2024-02-29</lastmod></url>
<url><lastmod>2024-02-29</lastmod><loc>http://h.example/2</loc></url>
<url><loc>http://h.example/3</loc></url></urlset>
"""
_INDEX = """
<sitemapindex><sitemap><loc>http://h.example/1</loc><lastmod>2024-02-29</lastmod></sitemap>
<sitemap><loc>http://h.example/2</loc><lastmod>2024-02-29</lastmod></sitemap></sitemapindex>
"""
_ATOM = """
<feed xmlns="http://www.w3.org/2005/Atom"><updated>2020-01-01</updated><link href="0"/>
<entry><link href="1"/><link rel="edit" href="no"/><updated>2024-02-29T00:00:00Z</updated></entry>
<entry><updated>2024-02-29</updated><link href="2"/></entry></feed>
"""
_RSS = """
<rss><channel><pubDate>Mon, 01 Jan 2020 00:00:00 GMT</pubDate><link>/0</link>
<item><link>1</link><image><url>x</url></image>
<pubDate>Thu, 29 Feb 2024 00:00:00 GMT</pubDate></item>
<item><pubDate>29 Feb 2024 00:00:00 GMT</pubDate><link>2</link></item>
<item><link>3</link><pubDate>soon</pubDate></item></channel></rss>
"""


@pytest.mark.parametrize("text", [_SITEMAP, _INDEX, _ATOM, _RSS])
def test_each_date_is_that_of_its_entry(text: str) -> None:
    found = feeds.read(text.strip().encode(), "application/xml", "http://h.example/")
    assert found.dates == {"http://h.example/1": DAY, "http://h.example/2": DAY}

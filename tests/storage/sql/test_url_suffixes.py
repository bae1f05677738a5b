"""Suffixes: the view has every URL as it was given, whatever the row of its host says."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select
from support.stores import candidate, open_store

from canonry.storage.sql.schema import url_rows, urls
from canonry.storage.sql.url_suffixes import suffix_of, urls_of

_URLS = {  # each with its host, and what the table keeps
    "https://a.example/": ("a.example", "/"),
    "https://a.example/x?y#/z": ("a.example", "/x?y#/z"),
    "http://a.example/": ("a.example", ":/"),
    "http://a.example//b": ("a.example", "://b"),
    "https://[::1]/x": ("[::1]", "/x"),
    "https://a.example:8080/x": ("a.example", "https://a.example:8080/x"),
    "https://u@a.example/x": ("a.example", "https://u@a.example/x"),
    "https://a.example.org/x": ("a.example", "https://a.example.org/x"),
    "https://A.example/x": ("a.example", "https://A.example/x"),
    "https://a.example": ("a.example", "https://a.example"),
    "ftp://a.example/x": ("a.example", "ftp://a.example/x"),
    "https:///x": ("", "/x"),
    "urn:canonry:key:0": ("", "urn:canonry:key:0"),
    "http://ü.example/é": ("ü.example", ":/é"),
    "https://ü.example/é/%C3": ("ü.example", "/é/%C3"),
}


@pytest.mark.every_database
def test_the_view_has_each_url_whole(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    some = [
        candidate("http://x.example/")._replace(url=url, host=host, key=bytes([n]) * 16)
        for n, (url, (host, _suffix)) in enumerate(_URLS.items())
    ]
    assert all(answer.new for answer in store.admit(some, 0.0))
    with store.transaction() as connection:
        found = connection.execute(select(urls.c.url).order_by(urls.c.id)).scalars().all()
        kept = connection.execute(select(url_rows.c.suffix).order_by(url_rows.c.id)).scalars().all()
    store.close()
    assert found == list(_URLS)
    assert kept == [suffix for _host, suffix in _URLS.values()]
    assert [urls_of([suffix], host) for host, suffix in _URLS.values()] == [[url] for url in found]


@given(
    st.sampled_from(["https://", "http://", "https:", "ftp://", "urn:"]),
    st.sampled_from(["", "a", "a:8", "b", "a/"]),
    st.sampled_from(["", "/", "/x", ":/", "//a/", "?x", "x"]),
    st.sampled_from(["", "a", "b"]),
)
def test_no_two_urls_of_a_host_have_one_tail(
    scheme: str, authority: str, rest: str, host: str
) -> None:
    url = scheme + authority + rest
    suffix = suffix_of(url, host)
    if suffix.startswith("/"):
        assert url == f"https://{host}{suffix}"
    elif suffix.startswith(":/"):
        assert url == f"http://{host}{suffix[1:]}"
    else:
        assert url == suffix

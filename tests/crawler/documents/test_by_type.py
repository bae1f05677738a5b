"""Documents of each kind, as far as all have to do the same."""

import gc

import pytest

from canonry.crawler.documents.by_type import read_document

URL = "http://a.example/"
XHTML = '<html xmlns="http://www.w3.org/1999/xhtml"><title>t</title><a href="b">b</a>'
KINDS = {
    "html": ("text/html", '<title>t</title><base href="/"><a href="b" rel="x">b</a>'),
    "xhtml": ("application/xhtml+xml", f"{XHTML}</html>"),
    "broken xhtml": ("application/xhtml+xml", f"{XHTML}<br>"),
    "sitemap": ("text/xml", "<urlset><url><loc>http://a.example/b</loc></url></urlset>"),
    "broken sitemap": ("text/xml", "<urlset><url><loc>http://a.example/b</loc></url>"),
    "text": ("text/plain", "http://a.example/b"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_leaves_nothing_for_the_garbage_collector(kind: str) -> None:
    """In a crawl it rarely runs: what is in a cycle stays, with parsers, links and all."""
    content_type, body = KINDS[kind]
    headers = {"Content-Type": content_type}
    read_document(body.encode(), headers, URL)  # fills caches
    gc.collect()
    gc.disable()
    try:
        found = read_document(body.encode(), headers, URL)
        assert found is not None
        assert len(found.links) == 1
        del found
        assert gc.collect() == 0
    finally:
        gc.enable()

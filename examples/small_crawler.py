"""Crawl a site whose pages link to each other under many names, each page once.

The site is served by this file, on loopback. A real crawler takes its links from a parser, waits
between requests and obeys robots.txt; Canonry's own does: ``canonry crawl``.

Output:
    4 pages, asked by 4 requests; the links to them had 10 names
"""

import re
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.request import urlopen

from canonry.claims import ClaimedURLs

PAGES = {
    "/": "/a /b /a#top /./b",
    "/a": "/ /b?utm_source=a /c",
    "/b": "/c? /%63 /a?fbclid=1",
    "/c": "/",
}


class Site(BaseHTTPRequestHandler):
    """A site of four pages."""

    def do_GET(self) -> None:
        """Answer with a page whose links are those of the table."""
        links = PAGES[self.path.partition("?")[0]].split()
        body = "".join(f'<a href="{link}">{link}</a>' for link in links).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def crawl(start: str, store: str) -> tuple[int, int]:
    """Return how many requests were made, and how many names the links had."""
    requests, written = 0, {"/"}
    with ClaimedURLs(store) as urls:
        todo = urls.unfinished() + urls.claim([start])
        while todo:
            url = todo.pop()
            with urlopen(url, timeout=10) as answer:
                body = answer.read()
            requests += 1
            links = re.findall(r'href="([^"]*)"', body.decode())
            written.update(links)
            todo += urls.claim(links, found_on=url)
            todo += urls.finish(url, 200, body=body)
    return requests, len(written)


def main() -> None:
    """Serve the site, and crawl it into a store that is thrown away."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{Path(folder, 'crawl.db')}"
        requests, names = crawl(f"http://127.0.0.1:{server.server_port}/", store)
    server.shutdown()
    server.server_close()
    print(f"{len(PAGES)} pages, asked by {requests} requests; the links to them had {names} names")


if __name__ == "__main__":
    main()

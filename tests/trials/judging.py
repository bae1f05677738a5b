"""Judges a crawl by the access log of the server and by the files of the manual."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from trials.manuals import Reachable

Page = tuple[Path, str]
"""A file, and the number of its part, or ``""`` for the whole."""


_SESSION = re.compile(r"^/\(S\([0-9a-f]+\)\)(?=/)")  # that the server takes away


class Truth(NamedTuple):
    """What a crawl of a site has to fetch."""

    root: Path
    linked: Reachable
    cuts: frozenset[Path]
    """The files whose parts have URLs of their own."""

    def pages(self) -> set[Page]:
        """Return all pages that links lead to; the start page is not one of the manual."""
        whole = {(file, "") for file in self.linked.files}
        return whole | {(file, part) for file in self.linked.files & self.cuts for part in "123"}

    def page(self, file: Path, part: str) -> Page:
        """Return what is served for a file and a parameter ``part``."""
        real = file.resolve()
        return real, part if real in self.cuts and part in {"1", "2", "3"} else ""

    def page_of(self, url: str) -> Page:
        """Return the page of a URL; of one that leads to nothing, the file that it would be."""
        split = urlsplit(url)
        file = self.root / unquote(_SESSION.sub("", split.path)).lstrip("/")
        if file.is_dir():
            file /= "index.html"
        part = parse_qs(split.query).get("part", [""])[0]
        return self.page(file, part)


def requests(log: Path) -> Iterator[dict[str, Any]]:
    """Yield the requests of an access log, but for those of robots.txt."""
    with log.open(encoding="utf-8") as file:
        for line in file:
            request = json.loads(line)
            if request["uri"] != "/robots.txt":
                yield request


def judged(log: Path, truth: Truth) -> dict[str, Any]:
    """Count what was fetched, what of it was wasted, and which pages were lost.

    One fetch of each page is needed, and one of each path that is linked and leads to nothing. All
    other requests are wasted: redirects, further names of a page, other questions about what does
    not exist.
    """
    fetched: set[Page] = set()
    missing: set[str] = set()
    count = dict.fromkeys(("fetches", "redirects", "repeats", "not_found", "others"), 0)
    for request in requests(log):
        count["fetches"] += 1
        path = _SESSION.sub("", urlsplit(request["uri"]).path)
        if request["status"] == 200:
            page = truth.page(Path(request["file"]), request["part"])
            count["repeats"] += page in fetched
            fetched.add(page)
        elif 300 <= request["status"] < 400:
            count["redirects"] += 1
        elif request["status"] in {403, 404}:
            count["not_found"] += path not in truth.linked.missing or path in missing
            missing.add(path)
        else:
            count["others"] += 1
    wasted = count["fetches"] - len(fetched) - len(missing & truth.linked.missing)
    lost = sorted(f"{file}?part={part}" for file, part in truth.pages() - fetched)
    return {
        "pages": len(fetched),
        **count,
        "wasted": wasted,
        "wasted_a_page": round(wasted / max(1, len(fetched)), 3),
        "expected": len(truth.pages()),
        "lost": len(lost),
        "lost_pages": [name.removeprefix(str(truth.root)) for name in lost[:10]],
    }


def merges(aliases: Iterable[dict[str, Any]], truth: Truth) -> dict[str, Any]:
    """Hold all merges by learned rules against the truth."""
    right, wrong, parts = 0, [], 0
    for alias in aliases:
        if alias["kind"] != "rule":
            continue
        one, other = truth.page_of(alias["url"]), truth.page_of(alias["same_as"])
        if one == other:
            right += 1
        else:
            wrong.append([alias["url"], alias["same_as"]])
            parts += one[0] == other[0]
    return {
        "merged": right + len(wrong),
        "wrongly_merged": len(wrong),
        "parts_merged": parts,
        "wrong_merges": wrong[:10],
    }

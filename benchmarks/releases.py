"""Of the pages that two releases of a manual have, how many are linked, and how many wrongly?

``python benchmarks/releases.py OLD NEW [OLD NEW ...]``: folders with the HTML of two releases each,
as from Debian's documentation packages. They are served as ``/docs/1/`` and ``/docs/2/``, crawled,
and exported with ``--prefer newest``. A page is the same in both if its path is; in doxygen's
manuals with numbered files (that of libstdc++), if its title, place and listed class are.
"""

import argparse
import functools
import html
import http.server
import json
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from measure import keep

_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL | re.IGNORECASE)
_LISTED = re.compile("complete list of members for (.*?), including")
_PLACE = re.compile(r'<li class="navelem">(.*?)</li>')
# Folders of the source tree, which later releases leave out of a file's place.
_SOURCE = {"include", "src", "libstdc++-v3", "doc", "libsupc++"}
_NUMBERED = re.compile(r"a[0-9]{5}.*\.html")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_given: object) -> None:
        """Say nothing."""


def truth(folder: Path) -> dict[str, object]:
    """Return what each page of a release is, by its path."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*.html")):
        name = path.relative_to(folder).as_posix()
        found[name] = name
        if (path.parent / "doxygen.css").exists() or _NUMBERED.fullmatch(path.name):
            text = path.read_text("utf-8", "replace")
            title = _TITLE.search(text)
            listed = _LISTED.search(text)
            places = [re.sub("<.*?>", "", place) for place in _PLACE.findall(text)]
            places = [place for place in places if place not in _SOURCE]
            what = re.sub(r"<.*?>|\d", "", listed[1]) if listed else tuple(places)
            found[name] = (html.unescape(title[1]).rstrip(".") if title else name, what)
    return found


def compare(old: Path, new: Path) -> dict[str, Any]:
    """Crawl two releases; return how many pages are linked."""
    with tempfile.TemporaryDirectory() as made:
        site = Path(made)
        (site / "docs").mkdir()
        (site / "docs" / "1").symlink_to(old.resolve())
        (site / "docs" / "2").symlink_to(new.resolve())
        pages = truth(old), truth(new)
        links = (f'<a href="/docs/{n}/{name}">' for n, one in enumerate(pages, 1) for name in one)
        (site / "index.html").write_text("".join(links))
        handler = functools.partial(_Quiet, directory=made)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            base = f"http://127.0.0.1:{server.server_address[1]}/"
            store = ["--store", str(site / "s.db")]
            words = [base, "--allow-private", "--delay", "0", "--scope", "host", *store]
            command = [sys.executable, "-m", "canonry"]
            subprocess.run([*command, "crawl", *words], check=True, capture_output=True)
            server.shutdown()
        export = ["export", "clusters", "--prefer", "newest", *store]
        done = subprocess.run([*command, *export], check=True, capture_output=True, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return judged(rows, base, *pages)


def judged(
    rows: list[dict[str, Any]], base: str, old: dict[str, object], new: dict[str, object]
) -> dict[str, Any]:
    """Compare the links of documents with the truth."""
    root = {row["url"]: row["url"] for row in rows}
    root |= {member["url"]: row["url"] for row in rows for member in row["members"]}
    link = {row["url"]: row["release_of"] for row in rows if row["release_of"]}
    unique = {what for what, times in Counter(new.values()).items() if times == 1}
    places = {what: name for name, what in new.items() if what in unique}
    once = Counter(old.values())
    both = [name for name, what in old.items() if what in places and once[what] == 1]
    right = equal = 0
    for name in both:
        here = root.get(f"{base}docs/1/{name}", "")
        there = root.get(f"{base}docs/2/{places[old[name]]}", " ")
        equal += here == there
        right += here == there or link.get(here, "") == there or link.get(there, "") == here
    here = {f"{base}docs/1/{name}": what for name, what in old.items()}
    there = {f"{base}docs/2/{name}": what for name, what in new.items()}
    wrong = [
        (one, to)
        for one, to in link.items()
        if one in here and to in there and here[one] != there[to]
    ]
    shown = [[str(here[one]), str(there[to])] for one, to in wrong]
    return {"both": len(both), "linked": right, "equal bytes": equal, "wrong": shown}


def main() -> None:
    """Compare pairs of folders."""
    folders = [Path(word) for word in sys.argv[1:] if not word.startswith("--")]
    found = {}
    for old, new in zip(folders[::2], folders[1::2], strict=True):
        name = f"{old.parent.name}/{old.name} and {new.name}"
        result = found[name] = compare(old, new)
        share = result["linked"] / max(result["both"], 1)
        sys.stdout.write(
            f"{name}: of {result['both']:,} pages in both, {share:.1%} linked "
            f"({result['equal bytes']:,} equal); {len(result['wrong']):,} wrong\n"
        )
    given = argparse.Namespace(keep="--keep" in sys.argv, corpus=None)
    keep(given, "releases", list(found), {"manuals": found})


if __name__ == "__main__":
    main()

"""The command ``redirects``, after a site was crawled, relaunched and crawled again."""

import csv
import io
import json
import random
from functools import partial
from pathlib import Path

import msgspec
from support.made_pages import WORDS
from support.servers import Answer, ok, raw_server
from support.sites import crawl_host, exported, from_thread, run_command

from canonry.crawler.cli.all_printed import ROWS

SEED = "http://h.example/"
PAGES = 24


class Site:
    """Pages that are in another directory after the relaunch, some of which redirect."""

    def __init__(self) -> None:
        self.folder, self.sends_on = "doc", False

    def __call__(self, head: bytes) -> Answer:
        path = head.split(b" ")[1].decode()
        folder, _, name = path[1:].partition("/")
        if path == "/":
            body = "".join(f'<a href="/{self.folder}/p{n}.html">' for n in range(PAGES))
        elif folder == self.folder:
            words = random.Random(name)
            title = " ".join(words.sample(WORDS, 3))
            text = " ".join(words.choices(WORDS, k=words.randint(40, 900)))
            body = f"<title>{title} - {folder}</title>{text} in {folder}"
        elif folder == "doc" and self.sends_on:
            return ok(b"", f"Location: /docs/{name}", status="301 Moved Permanently")
        else:
            return ok(b"", status="404 Not Found")
        return ok(body.encode(), "Content-Type: text/html")


def test_a_site_that_was_relaunched(tmp_path: Path) -> None:
    site = Site()
    with from_thread(raw_server(site)) as raw:
        crawl_again = partial(
            crawl_host, SEED, raw.port, tmp_path, "--config", "crawl.recrawl_after=0s"
        )
        crawl_again()
        done = run_command("redirects", folder=tmp_path)
        assert done.stderr.decode().strip() == "0 pages went: 0 moved; 0 without a new place"
        site.folder = "docs"
        crawl_again()
        done = run_command("redirects", folder=tmp_path)
        rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
        assert {row["url"]: row["target"] for row in rows} == {
            f"{SEED}doc/p{n}.html": f"{SEED}docs/p{n}.html" for n in range(PAGES)
        }
        assert {row["pattern"] for row in rows} == {"h.example/doc/* -> h.example/docs/*"}
        assert {row["doubt"] for row in rows} == {""}
        done = run_command("redirects", "--format", "nginx", "-o", "moved.conf", folder=tmp_path)
        assert (tmp_path / "moved.conf").read_text().count('\n    "~') == 1
        assert b"24 moved (1 pattern, 0 lines)" in done.stderr
        done = run_command("redirects", "--format", "jsonl", folder=tmp_path)
        for line in done.stdout.splitlines():
            msgspec.json.decode(line, type=ROWS["redirects"])
            assert tuple(json.loads(line)) == ROWS["redirects"].__struct_fields__
        documents = exported(tmp_path, "clusters", "--prefer", "newest")
        found = {row["url"]: row["moved_from"] for row in documents if row["moved_from"]}
        assert found[f"{SEED}docs/p7.html"] == f"{SEED}doc/p7.html"
        assert len(found) == PAGES
        # Nothing was merged or held.
        assert {row["state"] for row in exported(tmp_path, "urls")} == {"fetched"}
        site.sends_on = True
        crawl_again()
        done = run_command("redirects", folder=tmp_path)
        assert done.stderr.decode().startswith("0 pages went")
        assert b"24 redirect already" in done.stderr

"""Words beside an id: learned where they select nothing, and never where they select."""

import random
import re
from pathlib import Path

import pytest
from support.made_pages import WORDS
from support.servers import Answer, ok, raw_server
from support.sites import crawl_host, exported, from_thread

SEED, LISTS, PAGES = "http://h.example/", 20, 200
FORMS = {
    "id/slug": "/article/{}/{}",
    "slug/id": "/t/{1}/{0}",
    "id-slug": "/news/{}-{}",
    "slug-id": "/{1}-{0}.html",
}


class Slugs:
    """A site that links each page under three names; says of a URL which page it is."""

    def __init__(self, form: str, kind: str) -> None:
        choice = random.Random(f"{form} {kind}")
        self.page_of: dict[str, object] = {}
        for page in range(1, PAGES + 1):
            for name in range(3):
                id_ = {"year": 2000 + page % 25, "category": page % 40}.get(kind, 1_000 + page)
                words = "-".join(choice.sample(WORDS, 3))
                selects = kind in {"year", "category"} or (kind == "one in 5" and page % 5 == 0)
                if kind == "tabs" and name:
                    words, selects = ("all-comments", "change-history")[name - 1], True
                self.page_of.setdefault(FORMS[form].format(id_, words), (page, name * selects))
        self.lists = [list[str]() for _ in range(LISTS)]
        for url in self.page_of:
            choice.choice(self.lists).append(url)
        self.served: list[str] = []

    def __call__(self, head: bytes) -> Answer:
        path = head.split(b" ")[1].decode()
        if path == "/":
            body = "".join(f"<a href=/list{n}>" for n in range(LISTS))
        elif found := re.fullmatch("/list([0-9]+)", path):
            body = "".join(f"<a href={url}>" for url in self.lists[int(found[1])])
        elif path in self.page_of:
            self.served.append(path)
            words = random.Random(str(self.page_of[path]))
            body = f"<p class=token>{random.random()}</p>"
            body += "".join(f"<p>{' '.join(words.choices(WORDS, k=40))}.</p>" for _ in range(2))
            body = f"<title>{' '.join(words.choices(WORDS, k=4))}</title>{body}"
        else:
            return ok(b"", status="404 Not Found")
        return ok(body.encode(), "Content-Type: text/html")


def crawl(site: Slugs, folder: Path) -> list[str]:
    """Crawl a site, which has to lose no page; return the rules that act."""
    with from_thread(raw_server(site)) as raw:
        crawl_host(SEED, raw.port, folder)
    served = {site.page_of[url] for url in site.served}
    assert served == {*site.page_of.values()}
    rules = exported(folder, "rules")
    return [rule["definition"] for rule in rules if rule["state"] == "active"]


@pytest.mark.parametrize("form", FORMS)
def test_words_that_select_nothing(tmp_path: Path, form: str) -> None:
    site = Slugs(form, "any")
    [rule] = crawl(site, tmp_path)
    assert "path-slug" in rule
    assert form in rule
    spared = len(site.page_of) - len(site.served)
    assert spared > 0.8 * (len(site.page_of) - PAGES)


@pytest.mark.parametrize("kind", ["year", "category", "one in 5", "tabs"])
@pytest.mark.parametrize("form", ["id/slug", "slug-id"])
def test_words_that_select(tmp_path: Path, form: str, kind: str) -> None:
    site = Slugs(form, kind)
    assert crawl(site, tmp_path) == []
    assert len(site.served) < 1.03 * len(site.page_of)  # what is asked to find that out

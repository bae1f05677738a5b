"""A site with several releases of a manual: nearly the same, but for what was changed.

The pages that differ come last in each release, so nothing is seen of them for long.
"""

import random
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.crawls import crawl, page, target_of
from support.made_pages import WORDS
from support.servers import Answer, ok

RELEASES = ("1.0", "1.1", "1.2", "1.3")
ALIAS = "stable"  # of the last one
FILES = 160


def changed_in(release: str, number: int) -> int:
    """Return the release in which a file was changed last, up to some release; 0 if in none."""
    last = RELEASES.index(RELEASES[-1] if release == ALIAS else release)
    may_be = number >= FILES * 3 // 4 and number % 7
    return may_be if may_be and may_be <= last else 0


def text_of(release: str, number: int) -> str:
    """Return the text of a file in a release."""
    words = random.Random(number).choices(WORDS, k=120)
    if change := changed_in(release, number):
        words[40:40] = random.Random(1_000 * number + change).choices(WORDS, k=20)
    return " ".join(words)


def served(links: list[str]) -> Callable[[bytes], Answer]:
    """Serve the releases, with a home page that has some links."""

    def answer(head: bytes) -> Answer:
        _, release, *file = target_of(head).split("/")
        if not release:
            return page(*links)
        number = int(file[0].removesuffix(".html")) if file and file[0].endswith(".html") else -1
        if number < 0 or release not in {*RELEASES, ALIAS}:
            return ok(b"", status="404 Not Found")
        body = f"<title>Page {number}</title><p>{text_of(release, number)}</p>"
        return ok(body.encode(), "Content-Type: text/html")

    return answer


@pytest.mark.parametrize("by_release", [True, False])
@pytest.mark.parametrize("releases", [(*RELEASES, ALIAS), RELEASES[-2:]], ids=["five", "two"])
def test_releases_are_not_taken_for_one_another(
    tmp_path: Path, releases: Sequence[str], *, by_release: bool
) -> None:
    """Without the samples of copies, six to forty of these pages were lost in each crawl."""
    names = [(release, number) for release in releases for number in range(FILES)]
    names.sort(key=lambda name: 0 if by_release else name[1])
    answer = served([f"/{release}/{number}.html" for release, number in names])
    crawl(tmp_path, answer, timeout=60.0)
    store = sqlite3.connect(tmp_path / "store.db")
    held = store.execute(
        "SELECT u.url, v.url FROM urls u JOIN aliases a ON a.from_id = u.id AND a.kind = 'rule' "
        "JOIN urls v ON v.id = a.to_id WHERE u.state = 4"
    ).fetchall()
    store.close()
    for url, same_as in held:
        texts = {text_of(r, int(n[:-5])) for r, n in (one.split("/")[3:] for one in (url, same_as))}
        assert len(texts) == 1, f"{url} is not {same_as}"

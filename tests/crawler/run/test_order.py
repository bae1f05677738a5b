"""The order of a crawl's requests: what a redirect or an open question makes urgent goes next."""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path

import pytest
from sqlalchemy import Connection, select
from support.crawls import crawl, host_of, page, target_of
from support.servers import ok

from canonry.crawler.learn.session import Learned, LearningSession
from canonry.storage.reading import report
from canonry.storage.records import QUESTION, RecordedOutcome
from canonry.storage.rows import urls as rows
from canonry.storage.sql.schema import urls

LINKS = 400  # more than a worker has of one host in memory


def redirect(to: str) -> bytes:
    """Return a permanent redirect."""
    return ok(b"", f"Location: {to}", status="301 Moved Permanently")


class Site:
    """Answers by a function from host and target; it keeps the order of the requests."""

    def __init__(self, answer: Callable[[str, str], bytes]) -> None:
        self._answer = answer
        self.asked: list[str] = []

    def __call__(self, head: bytes) -> bytes:
        url = f"http://{host_of(head)}{target_of(head)}"
        if url.endswith("/robots.txt"):
            return ok(b"", status="404 Not Found")
        self.asked.append(url)
        return self._answer(host_of(head), target_of(head))

    def wait(self, source: str, target: str) -> int:
        """Return how many requests came between those for two targets on host a."""
        places = [self.asked.index(f"http://a.example{name}") for name in (source, target)]
        return places[1] - places[0] - 1


def moved(n: int) -> str:
    """Return where page n has moved: no rule tells."""
    return f"/{blake2b(bytes([n % 256, n // 256]), digest_size=6).hexdigest()}"


def careless(*, linked: bool) -> Callable[[str, str], bytes]:
    """Return a site whose home page links names that redirect, and perhaps their targets, too."""
    olds = {f"/old/{n}": moved(n) for n in range(LINKS)}
    news = sorted(olds.values()) if linked else []

    def answer(_host: str, target: str) -> bytes:
        if target == "/":
            return page(*olds, *news, *(f"/x/{n}" for n in range(99)))
        return redirect(olds[target]) if target in olds else page()

    return answer


@pytest.mark.parametrize(("per_host", "linked"), [(1, False), (8, True)], ids=["new", "known"])
def test_the_target_of_a_redirect_is_requested_right_after_its_source(
    tmp_path: Path, per_host: int, *, linked: bool
) -> None:
    site = Site(careless(linked=linked))
    status, _pages = crawl(tmp_path, site, concurrency=8, requests_per_host=per_host)
    assert status["urls"]["fetched"] == 1 + LINKS + 99
    assert len(site.asked) == len(set(site.asked)) == 1 + 2 * LINKS + 99
    waits = sorted(site.wait(f"/old/{n}", moved(n)) for n in range(LINKS))
    assert waits[LINKS // 2] <= 8, "so many requests may be out until the redirect is recorded"
    assert waits[-1] <= 2 * 8, "and the targets of so many others may wait then"


def test_chains_and_other_hosts_are_followed_at_once(tmp_path: Path) -> None:
    """Host b answers one request at a time as host a does; a's chain ends there."""

    def answer(host: str, target: str) -> bytes:
        if host == "a.example" and target == "/":
            return page("/chain", *(f"/{n}" for n in range(LINKS)), "http://b.example/")
        if host == "b.example" and target == "/":
            return page(*(f"/{n}" for n in range(LINKS)), "/end")
        steps = {"/chain": "/one", "/one": "/two", "/two": "http://b.example/end"}
        return redirect(steps[target]) if target in steps else page()

    site = Site(answer)
    crawl(tmp_path, site, scope="any", concurrency=4)
    a = [url for url in site.asked if "//a." in url]
    assert a.index("http://a.example/two") <= a.index("http://a.example/chain") + 2 * 4
    b = [url for url in site.asked if "//b." in url]
    assert b.index("http://b.example/end") < LINKS / 2
    assert len(site.asked) == len(set(site.asked)) == 1 + 1 + 2 * LINKS + 4


def test_depths_stay_exact_where_a_redirect_leads_to_a_deeper_url(tmp_path: Path) -> None:
    """The target is known from a page of depth 1, so it has depth 2 and waits for its level."""

    def answer(_host: str, target: str) -> bytes:
        if target == "/":
            return page("/finds", "/moved", *(f"/{n}" for n in range(50)))
        if target == "/finds":
            return page("/deep")
        return redirect("/deep") if target == "/moved" else page()

    site = Site(answer)
    crawl(tmp_path, site, max_depth=3, concurrency=2)
    assert site.asked[-1] == "http://a.example/deep"
    with report.reading(f"sqlite:///{tmp_path / 'store.db'}") as connection:
        found = connection.execute(select(urls.c.url, urls.c.depth))
        depths = {row.url: row.depth for row in found}
    assert depths["http://a.example/deep"] == 2
    assert set(depths.values()) == {0, 1, 2}


def test_targets_are_requested_within_the_limit_of_pages(tmp_path: Path) -> None:
    site = Site(careless(linked=True))
    status, _pages = crawl(tmp_path, site, max_pages=20)
    assert status["urls"]["fetched"] == 20


def test_what_decides_a_question_is_requested_before_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Learning names two URLs of those that are loaded, and one that is not yet."""
    wanted = [f"http://a.example/x/{n}" for n in (7, 250, 390)]
    learn = LearningSession.learn

    def curious(
        session: LearningSession,
        connection: Connection,
        recorded: Sequence[RecordedOutcome],
        now: float,
    ) -> Learned:
        learned = learn(session, connection, recorded, now)
        if all(one.outcome.queued.url != "http://a.example/x/0" for one in recorded):
            return learned
        found = connection.scalars(select(urls.c.id).where(urls.c.url.in_(wanted)))
        sooner = tuple(found)
        rows.promote(connection, sooner, QUESTION)
        return learned._replace(sooner=sooner)

    monkeypatch.setattr(LearningSession, "learn", curious)

    def answer(_host: str, target: str) -> bytes:
        return page(*(f"/x/{n}" for n in range(LINKS))) if target == "/" else page()

    site = Site(answer)
    crawl(tmp_path, site, concurrency=4)
    assert {url for url in site.asked[:10] if url in wanted} == set(wanted)
    assert len(site.asked) == len(set(site.asked)) == 1 + LINKS

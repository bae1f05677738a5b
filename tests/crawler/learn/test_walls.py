"""What looks like a wall is asked about within bounds, and pauses grow."""

import random

from canonry.crawler.documents.page_scan import blocks_of
from canonry.crawler.learn.suspects import AnsweredPage
from canonry.crawler.learn.walls import WallNews, WallPauses, Walls


def answer(number: int, text: str) -> AnsweredPage:
    """Return a page in a frame."""
    body = f"<div>Home News</div><main>{text}</main><footer>Contact</footer>".encode()
    encoded = blocks_of(body, "text/html")
    assert encoded is not None
    return AnsweredPage(f"http://a.example/{number % 7}/{number}", number + 1, encoded, len(body))


def test_questions_and_memory_have_bounds() -> None:
    """On a site of many pages with one template, none of them a wall."""
    rng = random.Random(1)
    walls = Walls(WallPauses())
    home = answer(5_000, "<h2>Welcome</h2>")
    walls.answered(home)
    pages = {home.url: home}
    asked = 0
    for number in range(4_000):
        words = " ".join(f"w{rng.randrange(900)}" for _ in range(12))
        page = answer(number, f"<h1>{words}</h1><b>In stock</b><p>Price {rng.randrange(99)}</p>")
        pages[page.url] = page
        walls.answered(page)
        news = list(walls.news())
        while news:
            asked += len(news[0].questions)
            assert news[0] == WallNews(questions=news[0].questions)
            for url in news[0].questions:
                walls.answered_question(url, pages.get(url))
            news = [*news[1:], *walls.news()]
    assert 0 < asked <= 6 + 3 + 0.01 * 4_000
    assert len(walls._groups._suspects) <= 129  # noqa: SLF001 - else the bound is hardly seen
    assert len(walls._groups._by_sketch) <= 4 * 129  # noqa: SLF001


def test_pauses_of_a_host_grow_and_end_and_begin_again() -> None:
    walls = Walls(WallPauses(first=10.0, most=2))
    hidden = WallNews(waiting=(1,), hides_host=True)
    assert walls.pause(hidden, 100.0) == 110.0
    assert walls.pause(hidden, 105.0) == 110.0  # its request was sent before the pause
    assert walls.pause(hidden, 111.0) == 151.0
    assert walls.pause(hidden, 152.0) is None
    walls.answered(answer(100, "<h2>Welcome</h2>"))
    for number in range(3):
        walls.answered(answer(number, "<p>Are you human?</p>"))
    questions = [url for news in walls.news() for url in news.questions]
    for url in questions:
        walls.answered_question(url, answer(9, "<p>Are you human?</p>"))
    further = [url for news in walls.news() for url in news.questions]
    for url in further:
        walls.answered_question(url, answer(9, "<p>Are you human?</p>"))
    [found] = list(walls.news())
    assert (found.waiting, found.hides_host) == ((1, 2, 3), True)
    walls.answered(answer(5, "<h1>A page</h1>"))
    assert list(walls.news()) == []
    assert walls.pause(hidden, 200.0) == 210.0  # it was open meanwhile


def test_a_scout_is_asked_again_for_a_part_of_a_site() -> None:
    walls = Walls(WallPauses(first=10.0, most=2))
    walls.answered(answer(100, "<h1>Home</h1><p>Welcome to all of you.</p>"))
    for number in range(12):
        walls.answered(answer(number, "<p>Log in, please.</p>"))
    found: list[WallNews] = []
    news = list(walls.news())
    while news:
        for url in news[0].questions:
            page = None
            if url.endswith("/100"):
                page = answer(100, "<h1>Home</h1><p>Welcome to all of you.</p>")
            elif url.rpartition("/")[2].isdigit():
                page = answer(0, "<p>Log in, please.</p>")
            walls.answered_question(url, page)
        found += [news[0]] * (not news[0].questions)
        news = [*news[1:], *walls.news()]
    assert found[0] == WallNews(kept=1)
    [_kept, one] = found
    assert (len(one.held), one.waiting, one.tries, one.hides_host) == (10, (12,), 0, False)
    assert walls.pause(one, 100.0) == 110.0
    walls.answered(answer(11, "<p>Log in, please.</p>"))
    assert list(walls.news()) == [WallNews(waiting=(12,), tries=1)]
    walls.answered(answer(11, "<h1>Eleven</h1><p>Something else.</p>"))
    assert list(walls.news()) == [WallNews(again=(1, *one.held))]


def test_the_revisions_of_a_file_are_no_wall() -> None:
    """As git viewers show them: a file under as many paths as there are commits."""
    walls = Walls(WallPauses())
    walls.answered(answer(100, "<h1>Home</h1><p>Welcome to all of you.</p>"))
    text = answer(0, "<p>This file has not changed in forty commits.</p>")
    pages = {}
    for number in range(40):
        page = text._replace(url=f"http://a.example/raw/{number * 7919:x}/f.txt", url_id=number + 1)
        pages[page.url] = page
        walls.answered(page)
        for news in walls.news():
            assert not (news.held + news.waiting + news.again)
            for url in news.questions:
                walls.answered_question(url, pages.get(url))
    assert not [news for news in walls.news() if news.held or news.waiting]

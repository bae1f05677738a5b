"""Answers that a learner is given, and pages that it asks for again where it has to."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from canonry.crawler.admission.scope import registrable
from canonry.crawler.content.sketch import encoded_sketch, hashes_of
from canonry.crawler.learn.learner import Learner
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.news import Answered, Moved

Site: TypeAlias = dict[str, Callable[[], bytes]]  # what answers, by URL


def answered(url: str, body: bytes, at: float = 0.0) -> Answered:
    """Return the answer of a page of text."""
    return Answered(url, str(hash(body)).encode(), at, sketch=encoded_sketch(body, "text/html"))


def answer_again(one: Learner, url: str, body: bytes) -> None:
    """Give a learner the answer of a page of text that it has asked for again."""
    news = answered(url, body)
    one.observe_again(url, news.digest, news.sketch, hashes_of(body, "text/html"))


def decided(news: Iterable[Answered | Moved]) -> Learner:
    """Return a learner that has decided after each answer."""
    one = Learner(thresholds.load(), registrable)
    for item in news:
        one.observe(item)
        one.decide(item.at)
    return one


def learn(site: Site) -> Learner:
    """Return a learner that was given pages of h.example, asked for some again, and decided."""
    one = Learner(thresholds.load(), registrable)
    for at, (url, body) in enumerate(site.items()):
        one.observe(answered(url, body(), float(at)))
        one.decide(float(at))
        for again in one.pages_to_repeat("h.example"):
            answer_again(one, again, site[again]())
    one.settle("h.example")
    one.decide(float(len(site)))
    return one

"""Answers that a learner is given, and pages that it asks for again where it has to."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from canonry.crawler.content.sketch import encoded_sketch, hashes_of
from canonry.crawler.learn.learner import Learner
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.memory.archive import Archive
from canonry.crawler.learn.news import Answered, Moved

from canonry.crawler.admission.scope import registrable

Site: TypeAlias = dict[str, Callable[[], bytes]]  # what answers, by URL


def _type(body: bytes) -> str:
    return "application/octet-stream" if body.startswith(b"%") else "text/html"


def answered(url: str, body: bytes, at: float = 0.0) -> Answered:
    """Return the answer of a page of text; of one that is not, if its body begins with "%"."""
    return Answered(url, str(hash(body)).encode(), at, sketch=encoded_sketch(body, _type(body)))


def answer_again(one: Learner, url: str, body: bytes) -> None:
    """Give a learner the answer of a page that it has asked for again."""
    news = answered(url, body)
    one.observe_again(url, news.digest, news.sketch, hashes_of(body, _type(body)))


def answer_as_before(one: Learner, known: Mapping[str, Answered]) -> None:
    """Give a learner the answers of h.example that it asks for again: they are as before.

    Args:
        one: the learner.
        known: the answers, by URL.
    """
    for url in one.pages_to_repeat("h.example"):
        one.observe_again(url, known[url].digest, known[url].sketch)


def decided(news: Iterable[Answered | Moved], archive: Archive | None = None) -> Learner:
    """Return a learner that has decided after each answer; nothing changes by itself.

    Args:
        news: the answers.
        archive: what the learner can ask for more.
    """
    one = Learner(thresholds.load(), registrable, archive)
    known: dict[str, Answered] = {}
    for item in news:
        if isinstance(item, Answered):
            known[item.url] = item
        one.observe(item)
        one.decide(item.at)
        answer_as_before(one, known)
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

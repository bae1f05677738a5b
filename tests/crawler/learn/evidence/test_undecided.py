"""Pages of which it is not known whether they are the same: what is known proves nothing, then."""

import random
from collections.abc import Callable
from functools import partial

from support.made_pages import WORDS

from canonry.crawler.admission.scope import registrable
from canonry.crawler.content.sketch import encoded_sketch
from canonry.crawler.learn.learner import Learner
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.news import Answered

H = "http://h.example"
Site = dict[str, Callable[[], bytes]]


def learn(site: Site) -> Learner:
    """Return a learner that was given pages, in their order, and asked for some of them again."""
    one = Learner(thresholds.load(), registrable)
    for at, (url, body) in enumerate(site.items()):
        one.observe(_answered(url, body(), float(at)))
        one.decide(float(at))
        for again in one.pages_to_repeat("h.example"):
            news = _answered(again, site[again](), float(at))
            one.observe_again(again, news.digest, news.sketch)
    one.settle("h.example")
    one.decide(float(len(site)))
    return one


def _answered(url: str, body: bytes, at: float) -> Answered:
    return Answered(url, str(hash(body)).encode(), at, sketch=encoded_sketch(body, "text/html"))


def active(one: Learner) -> list[tuple[str, str]]:
    """Return the family of each active rule, and what it drops."""
    rules = one.rules("h.example")
    return [(rule.rewrite.family, rule.rewrite.old) for rule in rules if rule.state == "active"]


def _in_stock(n: int, warehouse: int, rng: random.Random) -> bytes:
    """Return a page with one number that a parameter selects, and with a token that is not seen."""
    words = " ".join(random.Random(n).choices(WORDS, k=120))
    number = random.Random(n * 9 + warehouse).randrange(3, 93)
    token = f"<input type=hidden value={rng.random()}>"
    return f"<h1>Item {n}</h1><p>In stock: {number} pairs</p><p>{words}</p>{token}".encode()


def test_one_number_that_a_parameter_selects_leaves_its_rule_undecided() -> None:
    """A single number is no other page for certain; the pages with the default are the same."""
    rng = random.Random(1)
    site: Site = {}
    for n in range(60):
        site[f"{H}/p{n}"] = partial(_in_stock, n, 1, rng)
        for warehouse in (1, 2, 3):
            site[f"{H}/p{n}?wh={warehouse}"] = partial(_in_stock, n, warehouse, rng)
    one = learn(site)
    assert active(one) == [("parameter-default", "wh=1")]
    [rule] = [r for r in one.rules("h.example") if r.rewrite.family == "parameter-irrelevant"]
    assert rule.agree >= 25, "enough, if the others said nothing"


def test_an_age_in_minutes_does_not_revoke_a_rule() -> None:
    """The page that is older is asked again, too: in two answers of one moment no minute passes."""
    one = Learner(thresholds.load(), registrable)

    def page(n: int, minute: int) -> bytes:
        words = " ".join(random.Random(n).choices(WORDS, k=60))
        ages = f"created {25 + minute} minutes ago, changed {22 + minute} minutes ago"
        return f"<h1>Folder {n}</h1><p>{words}</p><p>{ages}</p>".encode()

    names = [f"{H}/d/{n}" for n in range(70)]
    states = []
    for at, url in enumerate([*names, *(f"{name}?sort=name" for name in names)]):
        number, minute = int(url.split("/")[-1].partition("?")[0]), int(at >= 110)
        one.observe(_answered(url, page(number, minute), float(at)))
        one.decide(float(at))
        states += [r.state for r in one.rules("h.example") if r.rewrite.old == "sort"]
        for again in one.pages_to_repeat("h.example"):
            known = int(again.split("/")[-1].partition("?")[0])
            news = _answered(again, page(known, minute), float(at))
            one.observe_again(again, news.digest, news.sketch)
    assert list(dict.fromkeys(states)) == ["candidate", "probation", "active", "suspended"]
    assert active(one) == [("parameter-irrelevant", "sort")]

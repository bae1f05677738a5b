"""Pages of which it is not known whether they are the same: what is known proves nothing, then."""

import random
from functools import partial

from support.made_pages import WORDS, aged
from support.repeated_pages import Site, answer_again, answered, learn

from canonry.crawler.admission.scope import registrable
from canonry.crawler.learn.learner import Learner
from canonry.crawler.learn.life import thresholds

H = "http://h.example"


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

    names = [f"{H}/d/{n}" for n in range(70)]
    states = []
    for at, url in enumerate([*names, *(f"{name}?sort=name" for name in names)]):
        number, minute = int(url.split("/")[-1].partition("?")[0]), int(at >= 110)
        one.observe(answered(url, aged(number, minute), float(at)))
        one.decide(float(at))
        states += [r.state for r in one.rules("h.example") if r.rewrite.old == "sort"]
        for again in one.pages_to_repeat("h.example"):
            known = int(again.split("/")[-1].partition("?")[0])
            answer_again(one, again, aged(known, minute))
    assert list(dict.fromkeys(states)) == ["candidate", "probation", "active", "suspended"]
    assert active(one) == [("parameter-irrelevant", "sort")]

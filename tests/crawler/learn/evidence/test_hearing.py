"""What speaks against a rule may only change by itself: that is seen before it is refuted."""

import random
from functools import partial

import pytest
from support.made_pages import WORDS
from support.repeated_pages import Site, answer_again, answered, learn

from canonry.crawler.admission.scope import registrable
from canonry.crawler.learn.learner import Learner
from canonry.crawler.learn.life import thresholds

H = "http://h.example"
LISTS = 12
ORDERS = ("", "?sort=name", "?sort=price", "?sort=new")


def text(seed: object, words: int) -> str:
    """Return a text that is another one for each seed."""
    return " ".join(random.Random(str(seed)).choices(WORDS, k=words))


def listed(number: int, order: str) -> bytes:
    """Return a list, in an order."""
    names = [f"<li>{text((number, n), 4)} {n * 17}" for n in range(12)]
    random.Random(order).shuffle(names)
    return f"<h1>List {number}</h1><ol>{''.join(names)}</ol>".encode()


def article(number: int, rng: random.Random, price: int) -> bytes:
    """Return a page of goods, with other goods and a count of views in each answer."""
    others = "".join(
        f"<li>{text(n, 3)} for {n * 31 + 5}" for n in rng.choices(range(number), k=3 * (number > 0))
    )
    body = f"<h1>{text(number, 3)}</h1><p>costs {price}</p><p>{text(-1 - number, 100)}</p>"
    return f"{body}<ul>{others}</ul><p>viewed {rng.randrange(10_000)} times".encode()


def shop(seed: int, *, dearer: bool = False) -> Site:
    """Return a shop whose lists come first, each in four orders, and stay as they are."""
    rng = random.Random(seed)
    site: Site = {
        f"{H}/goods/list/{n}/{order}": partial(listed, n, order)
        for n in range(LISTS)
        for order in ORDERS
    }
    for n in range(150):
        for end in ("", "?ref=list", "?size=L"):
            price = n * 31 + 5 + 117 * (dearer and end == "?size=L")
            site[f"{H}/goods/a{n}/{end}"] = partial(article, n, rng, price)
    return site


def states(one: Learner) -> dict[str, str]:
    """Return the state of the rule about each parameter."""
    return {rule.rewrite.old: rule.state for rule in one.rules("h.example")}


@pytest.mark.parametrize("seed", range(4))
def test_goods_that_change_are_learned_of_where_lists_stay(seed: int) -> None:
    found = states(learn(shop(seed)))
    assert found["ref"] == found["size"] == "active"
    assert "sort" not in found, "nothing speaks for it"


@pytest.mark.parametrize("seed", range(4))
def test_a_size_that_costs_more_is_not_taken_for_what_changes(seed: int) -> None:
    found = states(learn(shop(seed, dearer=True)))
    assert found["ref"] == "active"
    assert found.get("size") != "active"


def repeats(site: Site) -> list[str]:
    """Return the pages of a site that a learner asks for again."""
    one = Learner(thresholds.load(), registrable)
    asked: list[str] = []
    for at, (url, body) in enumerate(site.items()):
        one.observe(answered(url, body(), float(at)))
        one.decide(float(at))
        for again in one.pages_to_repeat("h.example"):
            asked.append(again)
            answer_again(one, again, site[again]())
    return asked


@pytest.mark.parametrize("names", [1, 30])
def test_where_nothing_changes_a_few_pages_are_asked_twice_for_a_few_rules(names: int) -> None:
    def page(number: int, name: int) -> bytes:
        return f"<h1>{number}</h1><p>{text(number, 60)}</p><p>{name} and {name + 7}".encode()

    site: Site = {
        f"{H}/p{n}{f'?n{name}=1' if name else ''}": partial(page, n, name)
        for n in range(20)
        for name in range(names + 1)
    }
    asked = repeats(site)
    assert len(asked) == len(set(asked)) == (4 if names == 1 else 24)


def test_pages_that_are_not_alike_are_not_asked_twice() -> None:
    def page(number: int, name: str) -> bytes:
        return f"<h1>A page</h1><p>{text((number, name), 60)}</p>".encode()

    names = ("", "?id=1")
    site: Site = {f"{H}/p{n}{name}": partial(page, n, name) for n in range(40) for name in names}
    assert repeats(site) == []

"""Pages that may be others or not are asked again: what differs stays, or changes by itself."""

import random
from collections.abc import Callable
from functools import partial

import pytest
from support.made_pages import WORDS
from support.repeated_pages import Site, learn

from canonry.crawler.learn.learner import Learner

H = "http://h.example"


def states(one: Learner) -> dict[str, str]:
    """Return the state of the rule about each parameter."""
    rules = [r for r in one.rules("h.example") if r.rewrite.family == "parameter-irrelevant"]
    return {rule.rewrite.old: rule.state for rule in rules if rule.rewrite.below == "/"}


def page(n: int, rng: random.Random, more: str = "", words: int = 120) -> bytes:
    """Return a page with a token that is not seen, and with a clock."""
    text = " ".join(random.Random(n).choices(WORDS, k=words))
    token = f"<input type=hidden value={rng.random()}>"
    return f"<h1>Item {n}</h1>{token}<p>{text}</p><p>{more}</p>request {rng.random()}".encode()


def named(body: Callable[[int, str], Callable[[], bytes]], count: int = 150) -> Site:
    """Return a site of so many pages, each with two other names."""
    site: Site = {}
    for n in range(count):
        for name in ("", "?ref=1", "?size=L"):
            site[f"{H}/p{n}{name}"] = body(n, name)
    return site


@pytest.mark.parametrize("share", [0.1, 0.25])
@pytest.mark.parametrize("seed", range(3))
def test_one_number_that_differs_on_some_pages_keeps_a_parameter(seed: int, share: float) -> None:
    """A shop: the large size costs more of some goods. The number is all that differs."""
    rng = random.Random(seed)

    def body(n: int, name: str) -> Callable[[], bytes]:
        dearer = name == "?size=L" and random.Random(n * 7 + seed).random() < share
        return partial(page, n, rng, f"costs {10 + n + 5 * dearer} euros")

    found = states(learn(named(body)))
    assert found["ref"] == "active"
    assert found["size"] != "active"


@pytest.mark.parametrize("seed", range(3))
def test_a_number_that_changes_by_itself_now_and_then_keeps_nothing(seed: int) -> None:
    """Every second answer shows how many people look at a page, which is rarely the same."""
    rng = random.Random(seed)

    def watched(n: int) -> bytes:
        more = f"watched by {rng.randrange(900)} people" if rng.random() < 0.5 else ""
        return page(n, rng, more)

    found = states(learn(named(lambda n, _name: partial(watched, n))))
    assert found == {"ref": "active", "size": "active"}


@pytest.mark.parametrize("seed", range(3))
def test_a_teaser_of_which_there_are_few_keeps_nothing(seed: int) -> None:
    rng = random.Random(seed)
    teasers = [" ".join(random.Random(f"teaser {n}").choices(WORDS, k=14)) for n in range(6)]

    def teased(n: int) -> bytes:
        return page(n, rng, rng.choice(teasers), words=500)

    found = states(learn(named(lambda n, _name: partial(teased, n))))
    assert found == {"ref": "active", "size": "active"}


@pytest.mark.parametrize("seed", range(3))
def test_a_section_that_the_last_pages_have_suspends_a_rule(seed: int) -> None:
    """The rule is long active when the first of them comes; each alone may be a teaser."""
    rng = random.Random(seed)
    teasers = [" ".join(random.Random(f"teaser {n}").choices(WORDS, k=14)) for n in range(20)]

    def shown(n: int, section: str) -> bytes:
        return page(n, rng, f"{section} {rng.choice(teasers)}", words=500)

    def body(n: int, name: str) -> Callable[[], bytes]:
        has_more = name == "?size=L" and n >= 110
        more = " ".join(random.Random(f"section {n}").choices(WORDS, k=200)) if has_more else ""
        return partial(shown, n, more)

    found = states(learn(named(body)))
    assert found["ref"] == "active"
    assert found["size"] != "active"


@pytest.mark.parametrize("first", [0, 110], ids=["all over the site", "on the last pages"])
@pytest.mark.parametrize("seed", range(3))
def test_two_words_beside_a_teaser_keep_a_parameter(seed: int, first: int) -> None:
    """What is sold out has the same teasers, under a tag of their own; a clock has a third one."""
    rng = random.Random(seed)
    teasers = [" ".join(random.Random(f"teaser {n}").choices(WORDS, k=14)) for n in range(20)]

    def shown(n: int, stock: str) -> bytes:
        body = page(n, rng, f"costs {n} euros, {stock}", words=500)
        return body.replace(b"request", f"<aside>{rng.choice(teasers)}</aside><i>request".encode())

    def body(n: int, name: str) -> Callable[[], bytes]:
        is_gone = name == "?size=L" and n >= first and random.Random(n * 7 + seed).random() < 0.3
        return partial(shown, n, "sold out" if is_gone else "in stock")

    found = states(learn(named(body)))
    assert found["ref"] == "active"
    assert found["size"] != "active"


def teased(n: int, rng: random.Random, own: str) -> bytes:
    """Return a short page with a sentence of its own and one of 25 teasers, all of one kind."""
    teaser = " ".join(random.Random(f"teaser {rng.randrange(25)}").choices(WORDS, k=25))
    return page(n, rng, own).replace(b"request", f"</p><p>{teaser}</p>request".encode())


@pytest.mark.parametrize("seed", range(3))
def test_each_of_several_rules_is_learned_on_short_pages_with_a_teaser(seed: int) -> None:
    """Many pages are in doubt; those that are asked again for one rule are not another's."""
    rng = random.Random(seed)
    site: Site = {}
    for n in range(200):
        for name in ("", "?ref=1", "?from=list", "?src=mail"):
            site[f"{H}/p{n}{name}"] = partial(teased, n, rng, f"made by {n % 7} people")
    assert states(learn(site)) == {"ref": "active", "from": "active", "src": "active"}


@pytest.mark.parametrize("seed", range(3))
def test_words_that_stand_where_a_teaser_does_keep_a_parameter(seed: int) -> None:
    """No sketch tells them from a teaser; what stays in each answer of a page does."""
    rng = random.Random(seed)

    def body(n: int, name: str) -> Callable[[], bytes]:
        is_gone = name == "?size=L" and random.Random(n * 7 + seed).random() < 0.25
        return partial(teased, n, rng, "sold out" if is_gone else "in stock")

    found = states(learn(named(body, 200)))
    assert found["ref"] == "active"
    assert found["size"] != "active"


@pytest.mark.parametrize("seed", range(3))
def test_pages_that_seem_the_same_are_read_where_something_changes(seed: int) -> None:
    """A code stands after the same word as a number that changes, and no page is in doubt."""
    rng = random.Random(seed)

    def body(n: int, name: str) -> Callable[[], bytes]:
        return partial(page, n, rng, f"request {1000 + n + 500 * (name == '?size=L')}")

    found = states(learn(named(body)))
    assert found["ref"] == "active"
    assert found["size"] != "active"


def shown(n: int, rng: random.Random, price: int, related: int, points: list[int]) -> bytes:
    """Return a page of goods with its price, and with related goods and their prices."""

    def offer(of: int, price: int) -> str:
        return f"{' '.join(random.Random(f'name {of}').choices(WORDS, k=2))}<p>Price {price}"

    each = rng.sample(range(60), related)
    others = "".join(f"<li>{offer(other, points[other % len(points)])}</li>" for other in each)
    text = " ".join(random.Random(n).choices(WORDS, k=120))
    return f"<h1>Item</h1>{offer(n, price)}<p>{text}<ul>{others}</ul>".encode()


@pytest.mark.parametrize("seed", range(4))
def test_a_price_that_other_goods_have_is_seen_to_differ(seed: int) -> None:
    """There are ten prices, each after one word, and all of them change by themselves."""
    rng = random.Random(seed)
    points = [499 + 500 * n for n in range(10)]

    def body(n: int, name: str) -> Callable[[], bytes]:
        dearer = name == "?size=L" and random.Random(n * 7 + seed).random() < 0.4
        return partial(shown, n, rng, points[(n + dearer) % 10], 3, points)

    found = states(learn(named(body, 220)))
    assert found["ref"] == "active"
    assert found["size"] != "active"


@pytest.mark.parametrize("seed", range(4))
def test_pages_are_told_apart_where_most_answers_do_not_change(seed: int) -> None:
    """A tenth of the pages has related goods: so it is long until a page is no chance."""
    rng = random.Random(seed)
    points = list(range(300, 9000, 37))

    def body(n: int, name: str) -> Callable[[], bytes]:
        dearer = name == "?size=L" and random.Random(n * 7 + seed).random() < 0.4
        return partial(shown, n, rng, points[n] + 9 * dearer, 3 if n % 10 == 0 else 0, points)

    found = states(learn(named(body, 220)))
    assert found["size"] != "active"


@pytest.mark.parametrize("seed", range(3))
def test_a_form_to_log_in_that_answers_in_place_of_pages_says_nothing(seed: int) -> None:
    """It does not show what changes by itself, nor that two pages have nothing of their own."""
    rng = random.Random(seed)
    asked: set[tuple[int, str]] = set()

    def body(n: int, name: str) -> Callable[[], bytes]:
        more = " ".join(random.Random(f"{n}{name}").choices(WORDS, k=40)) if "size" in name else ""

        def answer() -> bytes:
            if (n, name) in asked:
                return page(-1, rng, words=60).replace(b"Item", b"Please log in")
            asked.add((n, name))
            return page(n, rng, more)

        return answer

    found = states(learn(named(body)))
    assert found.get("size") != "active"

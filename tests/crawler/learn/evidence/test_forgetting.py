"""Large hosts, and many hosts: what is forgotten still counts, and what matters is looked up."""

import random
from collections.abc import Iterable, Iterator

from support.made_pages import page
from support.records import Records
from support.repeated_pages import answer_as_before

from canonry.crawler.admission.scope import registrable
from canonry.crawler.content.sketch import encoded_sketch
from canonry.crawler.learn.learner import Learner
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.news import Answered, Moved
from canonry.storage.learned.tracked_rule import TrackedRule

SITE = "h.example"
H = f"http://{SITE}"
LIMITS = thresholds.load()
News = Moved | Answered


class Short:
    """A learner that remembers few facts, with an archive."""

    def __init__(self, most_facts: int = 200, records: Records | None = None) -> None:
        self.records = records or Records()
        self.learner = Learner(LIMITS, registrable, self.records, most_facts)
        self.largest = 0  # facts at hand

    def observe(self, news: Iterable[News]) -> None:
        for at, item in enumerate(news):
            self.records.record(item)
            self.learner.observe(item)
            self.learner.decide(float(at))
            self.largest = max(self.largest, self.facts())

    def facts(self) -> int:
        return self.learner._memory._facts  # noqa: SLF001 - a bound is what is asked for

    def rule(self, family: str) -> TrackedRule:
        [found] = [
            rule
            for rule in self.learner.rules(SITE)
            if rule.rewrite.family == family and rule.rewrite.below == "/"
        ]
        return found


def names(numbers: Iterable[int], name: str = "", *, other: bool = False) -> Iterator[Answered]:
    """Yield pages under a name, with the content of the plain name or with another."""
    for n in numbers:
        yield Answered(f"{H}/d{n % 7}/p{n}{name}", b"%d%s" % (n, b"!" if other else b""), float(n))


def pairs(numbers: Iterable[int]) -> Iterator[Answered]:
    for n in numbers:
        yield from names([n])
        yield from names([n], "?ref=1")


def test_what_is_forgotten_still_counts() -> None:
    one = Short()
    one.observe(pairs(range(1500)))
    assert one.largest <= 200 // 2 + 1, "one site has half of the memory"
    rule = one.rule("parameter-irrelevant")
    assert (rule.state, rule.agree, rule.disagree) == ("active", 1500, 0)


def test_redirects_that_are_forgotten_still_count() -> None:
    one = Short()
    one.observe(Moved(f"{H}/p{n}", f"{H}/p{n}/", float(n)) for n in range(800))
    rule = one.rule("trailing-slash")
    assert (rule.state, rule.agree, rule.disagree, rule.moved) == ("active", 800, 0, 800)


def test_a_name_is_held_against_a_page_that_is_forgotten() -> None:
    one = Short()
    one.observe(pairs(range(300, 310)))
    one.observe(names(range(300)))
    one.observe(names(range(40), "?ref=1"))
    rule = one.rule("parameter-irrelevant")
    assert (rule.state, rule.agree) == ("active", 50)
    others = {item.url: item for item in names(range(100, 102), "?ref=1", other=True)}
    for item in others.values():
        one.observe([item])
        answer_as_before(one.learner, others)
    one.observe(names([40], "?ref=1"))
    assert (rule.state, rule.disagree) == ("revoked", 2)
    assert rule.against[0] == (f"{H}/d2/p100?ref=1", f"{H}/d2/p100")


def test_what_no_process_remembers_holds_a_rule_back() -> None:
    """Half of the names are other pages, but this process has only met the other half."""
    records = Records()
    for news in [*names(range(100)), *names(range(100), "?ref=1", other=True)]:
        records.record(news)
    for news in pairs(range(100, 300)):
        records.record(news)
    records.has_history = True
    one = Short(records=records)
    one.observe(pairs(range(300, 330)))
    rule = one.rule("parameter-irrelevant")
    assert rule.state == "probation"
    assert (rule.agree, rule.disagree) == (230, 100)
    assert (f"{H}/d0/p0?ref=1", f"{H}/d0/p0") in rule.against


def test_a_pair_that_was_half_forgotten_suspends_a_rule() -> None:
    """Nobody knows which other names a page had: that is found when facts are forgotten again."""
    one = Short()
    odd = range(1000, 1010)
    one.observe(names(odd, "?ref=1", other=True))
    one.observe(pairs(range(100)))
    rule = one.rule("parameter-irrelevant")
    assert (rule.state, rule.disagree) == ("active", 0)
    one.observe(names(odd))
    assert (rule.state, rule.disagree) == ("active", 0)
    one.observe(pairs(range(100, 300)))
    assert rule.state in {"suspended", "revoked"}
    assert rule.disagree == 10


def test_what_changes_by_itself_is_remembered() -> None:
    rng = random.Random(1)
    one = Short()
    for n in range(500):
        for name in ("", "?ref=1"):
            body = page(n, rng)
            url = f"{H}/d{n % 7}/p{n}{name}"
            sketch = encoded_sketch(body, "text/html")
            one.observe([Answered(url, str(hash(body)).encode(), float(n), sketch=sketch)])
            for again in one.learner.pages_to_repeat(SITE):
                number = int(again.partition("/p")[2].partition("?")[0])
                body = page(number, rng)
                sketch = encoded_sketch(body, "text/html")
                one.learner.observe_again(again, str(hash(body)).encode(), sketch)
    rule = one.rule("parameter-irrelevant")
    assert (rule.state, rule.disagree) == ("active", 0)
    assert rule.agree > 300


def test_boilerplate_is_remembered() -> None:
    one = Short()
    for n in range(8):
        one.observe([Answered(f"{H}/empty{n}", b"none", 1.0)])
    one.observe(names(range(400)))
    one.observe([Answered(f"{H}/shop", b"none", 1.0), Answered(f"{H}/shop?ref=1", b"none", 1.0)])
    assert not one.learner.rules(SITE), "the body says nothing"


def test_sites_that_take_turns_are_not_read_again_and_again() -> None:
    records = Records()
    records.has_history = True
    for site in range(30):
        for n in range(50):
            records.record(Answered(f"http://h{site}.example/p{n}", b"%d" % n, 1.0))
    one = Short(1000, records)
    for n in range(60, 66):
        one.observe(Answered(f"http://h{site}.example/p{n}", b"x", 2.0) for site in range(30))
    assert records.read <= 30 * 100
    assert one.largest <= 1000 + 50

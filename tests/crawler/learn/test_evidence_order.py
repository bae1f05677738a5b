"""The law of order: in whatever order a site answers, the evidence in the end is the same."""

import random
from collections.abc import Collection, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.records import Records
from support.strategies import some_of, tries

from canonry.canon.learned import Rewrite
from canonry.crawler.admission.scope import registrable
from canonry.crawler.content.sketch import encoded_sketch
from canonry.crawler.learn.evidence.mixes import is_within
from canonry.crawler.learn.learner import Learner
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.life.lifecycle import lower_bound
from canonry.crawler.learn.memory.site_memory import FACTS
from canonry.crawler.learn.news import Answered, Moved

LIMITS = thresholds.load()
SITE = "h.example"
_REFUTED = 16  # paths against a rule: it may not be looked at again
News = Moved | Answered

# How a site treats one name of a resource: as the resource, or as something else.
_TREATS = ("same", "same", "same", "same", "redirect", "other", "missing", "elsewhere", "canonical",
           "canonical", "itself", "kept", "named", "reworded", "renumbered", "says")  # fmt: skip
_MIXED = ("?ref=1", "?view=1", "?ref=1&view=1")  # of any of these parameters
_NAMES = ("/", "?ref=1", "?ref=2", "?ref=1&id=3", ";sid=a", "/index.html", "//x")


def _answers(resource: int, name: str, treated: str, at: float) -> list[News]:
    """Return what a site answers for one name of a resource."""
    main = f"https://{SITE}/docs/p{resource}"
    url = f"{main}{name}" if name != "http" else main.replace("https", "http")
    body = b"%d" % resource
    return {
        "same": [Answered(url, body, at)],
        "redirect": [Moved(url, main, at)],
        "other": [Answered(url, body + name.encode(), at)],
        "missing": [Answered(url, b"", at, missing=True)],
        "elsewhere": [Moved(url, f"https://{SITE}/moved", at)],
        "canonical": [
            Answered(url, body + b"!", at, names=main),
            Moved(url, main, at, "canonical"),
        ],
        "named": [
            Answered(url, body, at, names=main),
            Moved(url, main, at, "canonical"),
        ],
        "reworded": [
            Answered(url, body + b" more", at, names=main),
            Moved(url, main, at, "canonical"),
        ],
        "renumbered": [
            Answered(url, body + b" 7", at, names=main),
            Moved(url, main, at, "canonical"),
        ],
        "says": [Answered(url, body + name.encode(), at, names=main)],  # and nobody confirms it
        "itself": [Answered(url, body, at, names=url)],
        "kept": [
            Answered(url, body + b"!", at, names=f"{url}&b=2" if "?" in url else f"{url}?b=2"),
            Moved(url, f"{url}&b=2" if "?" in url else f"{url}?b=2", at, "canonical"),
        ],
    }[treated]


@st.composite
def outcomes(draw: st.DrawFn) -> list[News]:
    """Return what a site answered: a habit for each kind of name, with some exceptions."""
    some = st.lists(st.sampled_from((*_NAMES, "http")), min_size=1, max_size=3, unique=True)
    names = draw(some | st.just([*_MIXED]))
    habits = {name: draw(st.sampled_from(_TREATS)) for name in names}
    most = 48 if names == [*_MIXED] else 32  # each parameter of a mix needs more pages
    count = draw(st.sampled_from((5, 9, 14, 20, most)))
    rare = draw(st.sampled_from((0.0, 0.0, 0.02, 0.3)))
    rng = random.Random(draw(st.integers(0, 1 << 30)))
    news: list[News] = []
    for resource in range(count):
        if rng.random() < 0.9:
            news.append(Answered(f"https://{SITE}/docs/p{resource}", b"%d" % resource, 1.0))
        for name, habit in habits.items():
            treated = rng.choice(_TREATS) if rng.random() < rare else habit
            if rng.random() < 0.9:
                news += _answers(resource, name, treated, 2.0)
    return [_as_text(one) for one in news] if draw(st.booleans()) else news


def _as_text(news: News) -> News:
    """Return an answer with the sketch of a text: a word for the resource, and what its body says.

    Without a sketch it is not known which words differ.
    """
    if not isinstance(news, Answered) or news.missing:
        return news
    resource = news.digest.split(b" ")[0].rstrip(b"!")
    page = b"<title>w%s</title> %s %s" % (b"x" * len(resource), b"y" * 3, news.digest)
    return news._replace(sketch=encoded_sketch(page, "text/html"))


def learn(news: Sequence[News], step: int, most_facts: int = FACTS) -> Learner:
    """Pass news to a learner that remembers so many facts, and let it decide after each few."""
    records = Records()
    one = Learner(LIMITS, registrable, records, most_facts)
    for place, item in enumerate(news):
        records.record(item)
        one.observe(item)
        if place % step == 0:
            one.decide(float(place))
    one.settle(SITE)
    for _ in range(4):  # from candidate to probation, and so on
        one.decide(float(len(news)))
    return one


def evidence(one: Learner, but: Collection[Rewrite] = ()) -> set[tuple[object, ...]]:
    """Return the evidence of the rules for the whole site, but for those that a decision opens.

    It also lets rules go: those that an active rule about any mix of parameters says, too.
    """
    return {
        (rule.rewrite, rule.agree, rule.disagree, rule.moved, rule.reversed)
        for rule in one.rules(SITE)
        if rule.rewrite.below == "/" and rule.disagree < _REFUTED
        if rule.rewrite.family not in {"parameter-default", "parameter-mix"}
        if not any(is_within(mix, rule.rewrite) for mix in but)
    }


def mixes(one: Learner) -> list[Rewrite]:
    """Return what the active rules say that are about any mix of parameters."""
    rules = [rule for rule in one.rules(SITE) if rule.state == "active"]
    return [rule.rewrite for rule in rules if rule.rewrite.family == "parameter-mix"]


def active(one: Learner) -> list[tuple[int, int]]:
    """Return the evidence for and against each active rule."""
    return [(rule.agree, rule.disagree) for rule in one.rules(SITE) if rule.state == "active"]


@pytest.mark.slow
def test_many_sets_of_outcomes_make_rules_active() -> None:
    """Otherwise the laws below would test little."""
    learners = [learn(news, 1) for news in some_of(outcomes())]
    assert sum(bool(active(one)) for one in learners) > 0.08 * len(learners)
    assert sum(bool(evidence(one)) for one in learners) > 0.5 * len(learners)
    assert sum(bool(mixes(one)) for one in learners) > 0.01 * len(learners)


@given(outcomes(), st.randoms(use_true_random=False), st.integers(1, 16))
@settings(max_examples=tries(1), deadline=None)
def test_the_evidence_does_not_depend_on_the_order_and_contradicts_no_active_rule(
    news: list[News], rng: random.Random, step: int
) -> None:
    """Two laws about the same learners, which take long."""
    orders = (news, news[::-1], rng.sample(news, len(news)))
    straight, *others = learners = [learn(order, step) for order in orders]
    for other in others:
        either = [*mixes(straight), *mixes(other)]
        assert evidence(other, either) == evidence(straight, either)
    for one in learners:
        for agree, disagree in active(one):
            assert not disagree or lower_bound(agree, disagree) >= LIMITS.family["www"].doubted


@settings(max_examples=tries(1), deadline=None)
@given(outcomes(), st.integers(0, 1 << 30), st.integers(1, 40))
def test_evidence_that_counts_has_names_and_no_other(
    news: list[News], seed: int, step: int
) -> None:
    random.Random(seed).shuffle(news)
    for rule in learn(news, step).rules(SITE):
        if rule.rewrite.below == "/":
            assert bool(rule.samples) == bool(rule.agree), rule
            assert bool(rule.against) == bool(rule.disagree), rule


def test_what_spoke_against_a_rule_before_it_was_one_is_named() -> None:
    odd = f"https://{SITE}/odd"
    news = [Answered(odd, b"a", 1.0), Answered(f"{odd}/", b"b", 2.0)]
    news += [Moved(f"https://{SITE}/p{n}", f"https://{SITE}/p{n}/", 3.0 + n) for n in range(3)]
    rule = next(r for r in learn(news, 1).rules(SITE) if r.rewrite.below == "/")
    assert (rule.agree, rule.disagree) == (3, 1)
    assert rule.against == [(odd, f"{odd}/")]
    assert [url for url, _found in rule.samples] == [f"https://{SITE}/p{n}" for n in range(3)]


@given(outcomes(), st.integers(0, 1 << 30), st.integers(1, 16), st.sampled_from((16, 40, 80)))
@settings(max_examples=tries(1), deadline=None)
def test_no_rule_is_active_that_what_was_forgotten_contradicts(
    news: list[News], seed: int, step: int, most: int
) -> None:
    random.Random(seed).shuffle(news)
    whole = {rule.rewrite: rule for rule in learn(news, step).rules(SITE)}
    for rule in learn(news, step, most).rules(SITE):
        if rule.state == "active" and rule.rewrite in whole:
            all_known = whole[rule.rewrite]
            assert not all_known.disagree or (
                lower_bound(all_known.agree, all_known.disagree) >= LIMITS.family["www"].doubted
            )

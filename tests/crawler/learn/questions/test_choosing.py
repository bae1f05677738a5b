"""Tests of the questions: which queued URLs are asked sooner, for the sake of learning."""

import random

from canonry.crawler.admission.scope import registrable
from canonry.crawler.learn.learner import Learner
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.news import Answered, Moved
from canonry.crawler.learn.questions.choosing import LOOKED_AT

H = "http://h.example"


def named(one: Learner, page: str, by: str) -> None:
    """Let a page answer under two names; the second one has the first as its canonical link."""
    one.observe(Answered(page, page.encode(), 1.0))
    one.observe(Answered(f"{page}?{by}", page.encode(), 1.0))
    one.observe(Moved(f"{page}?{by}", page, 1.0, "canonical"))


def test_the_other_names_of_pages_are_asked_for_an_open_rule() -> None:
    one = Learner(thresholds.load(), registrable)
    for n in range(6):
        one.observe(Answered(f"{H}/p{n}", b"%d" % n, 1.0))
    one.observe(Answered(f"{H}/p0?ref=1", b"0", 1.0))
    queued = [f"{H}/q{n}?ref=1" for n in range(20)] + [f"{H}/p{n}?ref=2" for n in range(6)]
    room = one.room_for_questions("h.example")
    assert 0 < room <= 6
    chosen = one.questions("h.example", queued, room)
    assert set(chosen) == {f"{H}/p{n}?ref=2" for n in range(1, 6)}, "those that decide something"
    assert one.room_for_questions("h.example") <= 1, "until they have answered"


def test_questions_are_a_small_share_of_the_requests() -> None:
    one = Learner(thresholds.load(), registrable)
    one.observe(Answered(f"{H}/p", b"p", 1.0))
    one.observe(Answered(f"{H}/p?ref=1", b"p", 1.0))
    asked = 0
    for n in range(600):
        one.observe(Answered(f"{H}/x{n}", b"%d" % n, 1.0))
        if room := one.room_for_questions("h.example"):
            asked += len(one.questions("h.example", [f"{H}/x{n}?ref={n}"], room))
    assert 10 < asked <= 64 + 600 // 4


def test_parameters_that_look_like_session_ids_are_a_question_at_once() -> None:
    one = Learner(thresholds.load(), registrable)
    rng = random.Random(6)
    tokens = ["".join(rng.choices("0123456789abcdef", k=16)) for _ in range(40)]
    for n in range(8):
        one.observe(Answered(f"{H}/p{n}?zid={tokens[n]}", b"%d" % n, 1.0))
    assert not one.rules("h.example"), "the shape proves nothing"
    queued = [f"{H}/p{n}?zid={tokens[20 + n]}" for n in range(8)]
    assert one.questions("h.example", queued, 6) == queued[:6]


def test_where_canonical_links_speak_for_a_rule_pages_that_are_not_known_yet_are_asked() -> None:
    one = Learner(thresholds.load(), registrable)
    named(one, f"{H}/p", "ref=1")
    queued = [f"{H}/{name}?ref={n}" for name in "pqrs" for n in range(2, 9)]
    chosen = one.questions("h.example", queued, 6)
    assert chosen == [f"{H}/{name}?ref=2" for name in "qrs"], "each once: it names the other itself"


def test_what_was_asked_already_is_no_new_question() -> None:
    one = Learner(thresholds.load(), registrable)
    named(one, f"{H}/p", "ref=1")
    queued = [f"{H}/{name}?ref={n}" for name in "qr" for n in range(2, 9)]
    assert len(one.questions("h.example", queued, 6)) == 2
    assert not one.questions("h.example", queued, 6)
    named_one = Moved(f"{H}/x?ref=1", f"{H}/x", 1.0, "canonical")
    assert one.is_worth_asking(named_one)
    assert not one.is_worth_asking(named_one._replace(source=f"{H}/x?ref=2"))
    one.observe(Answered(f"{H}/x", b"x", 1.0))
    assert not one.is_worth_asking(named_one), "it has answered"


def test_targets_of_canonical_links_are_within_the_share_of_questions() -> None:
    one = Learner(thresholds.load(), registrable)
    links = [Moved(f"{H}/p{n}?ref=1", f"{H}/p{n}", 1.0, "canonical") for n in range(600)]
    assert sum(map(one.is_worth_asking, links)) == 64
    for n in range(6):
        one.observe(Answered(f"{H}/x{n}", b"%d" % n, 1.0))
    later = [Moved(f"{H}/q{n}?ref=1", f"{H}/q{n}", 1.0, "canonical") for n in range(600)]
    assert sum(map(one.is_worth_asking, later)) == 1, "for each six answers, one more"


def test_what_an_active_rule_changes_is_not_asked_for_another_rule() -> None:
    one = Learner(thresholds.load(), registrable)
    for n in range(30):
        named(one, f"{H}/p{n}", "ref=1")
        one.decide(float(n))
    assert [rule.state for rule in one.rules("h.example")] == ["active"]
    for url in (f"{H}/d/", f"{H}/d"):
        one.observe(Answered(url, b"d", 40.0))
    queued = [f"{H}/e/?ref=1", f"{H}/e?ref=1", f"{H}/f/", f"{H}/f"]
    assert one.questions("h.example", queued, 6) == queued[2:]


def test_one_look_after_the_other_goes_through_the_queue() -> None:
    one = Learner(thresholds.load(), registrable)
    named(one, f"{H}/p", "ref=1")
    queue = [f"{H}/p?ref={n}" for n in range(2 * LOOKED_AT + 10)] + [f"{H}/q?ref=1"]
    found = []
    for _ in range(4):
        place = one.place_in_queue("h.example")
        found.append(one.questions("h.example", queue[place : place + LOOKED_AT], 6))
    assert found == [[], [], [f"{H}/q?ref=1"], []]


def test_a_long_queue_is_not_looked_at_again_and_again_in_vain() -> None:
    """Where dozens of rules are open, looks at the queue took more than all other learning."""
    one = Learner(thresholds.load(), registrable)
    one.observe(Answered(f"{H}/p", b"p", 1.0))
    one.observe(Answered(f"{H}/p?ref=1", b"p", 1.0))
    queued = [f"{H}/q{n}?view={n}" for n in range(1500)]
    looked = 0
    for n in range(600):
        one.observe(Answered(f"{H}/x{n}", b"%d" % n, 1.0))
        if room := one.room_for_questions("h.example"):
            after = one.place_in_queue("h.example")
            some = queued[after : after + LOOKED_AT]
            looked += len(some)
            assert one.questions("h.example", some, room) == []
    assert 1500 <= looked <= 600 * 32 + LOOKED_AT

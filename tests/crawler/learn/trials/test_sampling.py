"""The sample: some of what a rule holds is asked soon after it became active."""

from math import ceil
from pathlib import Path

from msgspec.structs import replace
from support.stored_rules import REF, SLASH, put_in_force
from support.stores import admit_names, assert_counts_are_right, open_store

from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.questions.to_sample import ToSample
from canonry.crawler.learn.trials.in_place import InPlace
from canonry.crawler.learn.trials.occasion import Occasion
from canonry.crawler.learn.trials.sampling import sample
from canonry.crawler.learn.trials.watched import Watched
from canonry.storage.learned.tracked_rule import TrackedRule

LIMITS = thresholds.load().verification


def test_a_sample_of_what_a_rule_holds_is_asked_soon(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit_names(store, 300)
    limits = replace(LIMITS, sample=40, sample_share=0.1, sample_every=2)
    watched, in_place = Watched(), InPlace()
    with store.transaction() as connection:
        [rule, _other], in_force = put_in_force(connection, SLASH, REF)
        held = set(connection.exec_driver_sql("SELECT id FROM urls WHERE state <> 0").scalars())
        rule.agree = 10

        def asked(answers: int, given: TrackedRule = rule) -> list[int]:
            occasion = Occasion(connection, "h.example", answers, [given], in_force, 10.0)
            found = sample(occasion, [ToSample(given)], watched, in_place, limits)
            assert not found.later
            return found.sooner

        assert asked(1) == []
        first = asked(1)
        assert len(first) == 2, "a URL, and the one that represents it"
        assert len(held.intersection(first)) == 1
        rows = [row for _ in range(200) for row in asked(2)]
        sampled = held.intersection(first + rows)
        queued = connection.exec_driver_sql("SELECT pending FROM hosts").scalar()
        assert 20 <= len(sampled) <= 0.1 * queued - 10 + 1, "less the paths that agreed before"
        assert max(sampled) - min(sampled) > 0.7 * (max(held) - min(held)), "from all over it"
        rule.agree = 40
        assert asked(100) == [], "it is large enough"
        rule.enter("suspended", 41.0)
        assert asked(100) == []
        assert_counts_are_right(connection)
    store.close()


def test_samples_are_smaller_where_several_rules_share_a_host(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit_names(store, 300)
    with store.transaction() as connection:
        rules, in_force = put_in_force(connection, SLASH, REF)

        def asked(number: int, size: int, share: float) -> tuple[int, int]:
            limits = replace(LIMITS, sample=size, sample_share=share, sample_every=1)
            pairs = [ToSample(rule) for rule in rules[:number]]
            occasion = Occasion(connection, "h.example", 1_000, rules, in_force, 10.0)
            watched = Watched()
            released = len(sample(occasion, pairs, watched, InPlace(), limits).sooner) // 2
            tests = sum(watched.sample_of(rule).asked for rule, *_ in pairs)
            return released, tests

        assert asked(1, 40, 1.0)[0] <= 40
        assert 40 < asked(2, 40, 1.0)[0] <= 2 * 29, "each has 40 / sqrt(2)"
        for number in (1, 2):
            queued = connection.exec_driver_sql("SELECT pending FROM hosts").scalar()
            released, tests = asked(number, 1_000, 0.05)
            assert released > 0
            assert tests == number * ceil(0.05 * queued / number), "together they have the share"
    store.close()


def test_where_canonical_links_speak_for_a_rule_names_are_asked_in_place_of_waiting_pages(
    tmp_path: Path,
) -> None:
    store = open_store(tmp_path)
    admit_names(store, 200)
    limits = replace(LIMITS, sample=40, sample_share=0.0, sample_every=1)
    watched, in_place = Watched(), InPlace()
    with store.transaction() as connection:
        [rule], in_force = put_in_force(connection, SLASH)
        held = set(connection.exec_driver_sql("SELECT id FROM urls WHERE state <> 0").scalars())
        occasion = Occasion(connection, "h.example", 1_000, [rule], in_force, 10.0)
        rows, later = sample(occasion, [ToSample(rule)], watched, in_place, limits)
        assert (len(held.intersection(rows)), later) == (4, []), "a few are, whatever the share"
        rows, later = sample(occasion, [ToSample(rule, is_by_word=True)], watched, in_place, limits)
        assert len(later) == len(rows)
        assert held.issuperset(rows), "what represents them is asked in its turn"
        assert 20 <= len(rows) <= 40
        assert_counts_are_right(connection)
    store.close()


def test_a_rule_that_rests_on_pages_that_were_read_is_tested_by_what_comes_later(
    tmp_path: Path,
) -> None:
    """However many paths agree: they were the first. And not at once, but as the crawl goes on."""
    store = open_store(tmp_path)
    admit_names(store, 300)
    limits = replace(LIMITS, sample=40, sample_share=0.1, sample_every=1)
    with store.transaction() as connection:
        [rule], in_force = put_in_force(connection, SLASH)
        rule.agree = 100
        occasion = Occasion(connection, "h.example", 12, [rule], in_force, 10.0)
        for by_reading, each in ((False, [0, 0, 0]), (True, [1, 2, 2])):
            watched, found = Watched(), []
            for _ in each:
                one = ToSample(rule, is_by_reading=by_reading)
                rows = sample(occasion, [one], watched, InPlace(), limits).sooner
                found.append(len(rows) // 2)
                watched.site("h.example", 10.0).answers += occasion.answers
            assert found == each
    store.close()


def test_a_mix_is_tested_more_whatever_it_was_proven_with(tmp_path: Path) -> None:
    """What agreed speaks for all of its names together; what is asked tests some of them."""
    store = open_store(tmp_path)
    admit_names(store, 300)
    limits = replace(LIMITS, sample=20, sample_share=1.0, sample_every=1)
    with store.transaction() as connection:
        [rule], in_force = put_in_force(connection, SLASH)
        rule.agree = 100
        occasion = Occasion(connection, "h.example", 1_000, [rule], in_force, 10.0)
        for names, tests in ((1, 0), (4, 40), (9, 60)):
            watched = Watched()
            sample(occasion, [ToSample(rule, names=names)], watched, InPlace(), limits)
            assert watched.asked(rule) == tests
    store.close()

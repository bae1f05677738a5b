"""The watch: active rules are verified now and then on what they hold."""

from pathlib import Path

from msgspec.structs import replace
from support.stores import MAKE, admit_names, assert_counts_are_right, candidate, open_store

from canonry.canon import LearnedRule
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.learn.watch import Watch
from canonry.storage import Store
from canonry.storage.learned.tracked_rule import TrackedRule

H = "http://h.example"
LIMITS = thresholds.load().verification
SLASH = LearnedRule(host="h.example", family="trailing-slash", new="bare")
REF = LearnedRule(host="h.example", family="parameter-irrelevant", old="ref")
TO_2 = LearnedRule(host="h.example", family="path-prefix", old="/v1/", new="/v2/")
TO_3 = LearnedRule(host="h.example", family="path-prefix", old="/v2/", new="/v3/")


def test_one_held_url_is_asked_for_every_fifty_answers(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit_names(store, 100)
    watch = Watch(LIMITS)
    with store.transaction() as connection:
        rule_store.import_rules(connection, [SLASH, REF], MAKE, 2.0)
        in_force, _done = rule_store.publish(connection, [SLASH.rewrite], MAKE, 3.0)
        rules = [rule_store.find(connection, rule.id) for rule in (SLASH, REF)]

        def released(answers: int, now: float, given: list[TrackedRule] = rules) -> list[int]:
            return watch.release(connection, "h.example", answers, given, in_force, now)

        assert released(49, 10.0) == []
        rows = []
        for turn in range(1, 9):
            [row] = released(50, 10.0 + turn)
            rows.append(row)
            rules[turn % 2].verified_at = 10.5 + turn  # which it asked is not told
        assert len(set(rows)) == 8
        assert max(rows) - min(rows) > 150, "from all over the host"
        query = "SELECT url FROM urls WHERE state = 0 AND priority = 0"
        queued = set(connection.exec_driver_sql(query).scalars())
        assert any(url.endswith("/") for url in queued)
        assert any("ref" in url for url in queued), "all rules have their turns"
        for rule in rules:
            rule.verified_at = 30.0
        assert released(50, 40.0) == [], "both were just verified"
        rules[0].enter("suspended", 41.0)
        rules[1].enter("revoked", 41.0)
        assert released(500, 42.0) == []
        assert_counts_are_right(connection)
    store.close()


def test_on_a_site_with_many_answers_a_few_are_asked_at_once(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit_names(store, 100)
    watch = Watch(LIMITS)
    with store.transaction() as connection:
        rule_store.import_rules(connection, [SLASH, REF], MAKE, 2.0)
        in_force, _done = rule_store.publish(connection, [SLASH.rewrite], MAKE, 3.0)
        rules = [rule_store.find(connection, rule.id) for rule in (SLASH, REF)]
        found = [
            len(watch.release(connection, "h.example", 50, rules, in_force, 10.0 + turn))
            for turn in range(48)
        ]
        assert found == [1] * 20 + [0, 2] * 10 + [0, 0, 3] + [0, 0, 3] + [0, 0]
        assert_counts_are_right(connection)
    store.close()


def test_a_sample_of_what_a_rule_holds_is_asked_soon(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit_names(store, 300)
    limits = replace(LIMITS, sample=40, sample_share=0.1, sample_every=2)
    watch = Watch(limits)
    with store.transaction() as connection:
        rule_store.import_rules(connection, [SLASH, REF], MAKE, 2.0)
        in_force, _done = rule_store.publish(connection, [SLASH.rewrite], MAKE, 3.0)
        held = set(connection.exec_driver_sql("SELECT id FROM urls WHERE state <> 0").scalars())
        rule = rule_store.find(connection, SLASH.id)
        rule.agree = 10

        def asked(answers: int, given: TrackedRule = rule) -> list[int]:
            pairs = [(given, False)]
            found = watch.sample(connection, "h.example", answers, pairs, in_force, 10.0)
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
        rule_store.import_rules(connection, [SLASH, REF], MAKE, 2.0)
        in_force, _done = rule_store.publish(connection, [SLASH.rewrite], MAKE, 3.0)
        rules = [rule_store.find(connection, rule.id) for rule in (SLASH, REF)]

        def asked(number: int, sample: int, share: float) -> int:
            watch = Watch(replace(LIMITS, sample=sample, sample_share=share, sample_every=1))
            pairs = [(rule, False) for rule in rules[:number]]
            rows = watch.sample(connection, "h.example", 1_000, pairs, in_force, 10.0).sooner
            return len(rows) // 2

        assert asked(1, 40, 1.0) <= 40
        assert 40 < asked(2, 40, 1.0) <= 2 * 29, "each has 40 / sqrt(2)"
        assert 0 < asked(2, 1_000, 0.05) <= asked(1, 1_000, 0.05), "together they have the share"
    store.close()


def test_where_canonical_links_speak_for_a_rule_names_are_asked_in_place_of_waiting_pages(
    tmp_path: Path,
) -> None:
    store = open_store(tmp_path)
    admit_names(store, 200)
    watch = Watch(replace(LIMITS, sample=40, sample_share=0.0, sample_every=1))
    with store.transaction() as connection:
        rule_store.import_rules(connection, [SLASH], MAKE, 2.0)
        in_force, _done = rule_store.publish(connection, [SLASH.rewrite], MAKE, 3.0)
        held = set(connection.exec_driver_sql("SELECT id FROM urls WHERE state <> 0").scalars())
        rule = rule_store.find(connection, SLASH.id)
        for by_word, most in ((False, 0), (True, 40)):
            pairs = [(rule, by_word)]
            rows, later, _tests = watch.sample(
                connection, "h.example", 1_000, pairs, in_force, 10.0
            )
            assert len(later) == len(rows)
            assert held.issuperset(rows), "what represents them is asked in its turn"
            assert most // 2 <= len(rows) <= most
        assert_counts_are_right(connection)
    store.close()


def _admit_copies(store: Store, pages: int) -> None:
    """Admit the same pages in three directories of h.example."""
    for n in range(pages):
        for release in ("1", "2", "3"):
            name = candidate(f"{H}/v{release}/{n}")
            store.admit([name._replace(source=1, depth=1)], 1.0)


def test_rules_for_copies_have_samples_that_do_not_depend_on_the_size_of_the_site(
    tmp_path: Path,
) -> None:
    """And a name is asked with all that rules in turn make of it, so that each is tested."""
    store = open_store(tmp_path)
    _admit_copies(store, 40)
    watch = Watch(replace(LIMITS, sample=30, sample_share=0.0))
    with store.transaction() as connection:
        rule_store.import_rules(connection, [TO_2, TO_3], MAKE, 2.0)
        in_force, _done = rule_store.publish(connection, [TO_2.rewrite], MAKE, 3.0)
        rules = [rule_store.find(connection, rule.id) for rule in (TO_2, TO_3)]
        for rule in rules:
            rule.agree = 10
        found = connection.exec_driver_sql("SELECT id, url FROM urls")
        urls = dict(map(tuple, found))

        def asked(answers: int, given: list[TrackedRule], likely: list[str]) -> list[str]:
            found = {rule.id: likely for rule in given}
            rows = watch.sample_copies(
                connection, "h.example", answers, given, in_force, lambda _site, _rules: found, 4.0
            )
            return [urls[row].removeprefix(H) for row in rows]

        assert asked(5, rules[:1], []) == [], "a single one may be an alias"
        first = asked(1, rules, [])
        assert sorted(name[:4] for name in first) in (
            ["/v1/", "/v2/", "/v3/"],
            ["/v2/", "/v3/"],
        ), "the name, what the first rule makes of it, and what represents both"
        assert len({name[4:] for name in first}) == 1
        likely = [f"{H}/v1/39", f"{H}/v1/none"]
        assert "/v1/39" in asked(16, rules, likely), "it comes at once"
        everything = [name for _ in range(60) for name in asked(5, rules, [])]
        assert len({name for name in everything if name.startswith("/v1/")}) <= 30
        assert asked(5, rules, []) == [], "the samples are large enough"
        rules[0].moved = rules[0].agree
        assert asked(5, rules, []) == [], "it redirects"
        assert_counts_are_right(connection)
    store.close()

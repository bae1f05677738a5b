"""The samples of copies: what differs between releases is asked of each of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace
from support.stored_rules import put_in_force
from support.stores import assert_counts_are_right, candidate, open_store

from canonry.canon import LearnedRule
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.trials.occasion import Occasion
from canonry.crawler.learn.trials.sampling_copies import CopiesSampler
from canonry.crawler.learn.trials.watched import Watched
from canonry.storage import Store
from canonry.storage.learned.tracked_rule import TrackedRule

H = "http://h.example"
LIMITS = thresholds.load().verification
TO_2 = LearnedRule(host="h.example", family="path-prefix", old="/v1/", new="/v2/")
TO_3 = LearnedRule(host="h.example", family="path-prefix", old="/v2/", new="/v3/")


class _Known:
    """What is known of copies: all rules are about some, and may fail at the same names."""

    def __init__(self, likely: Sequence[str]) -> None:
        self.likely = likely

    def copies(self, _site: str, rules: Sequence[TrackedRule]) -> Sequence[TrackedRule]:
        return rules

    def likely_exceptions(
        self, _site: str, rules: Sequence[TrackedRule]
    ) -> Mapping[str, Sequence[str]]:
        return {rule.id: self.likely for rule in rules}


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
    limits = replace(LIMITS, sample=30, sample_share=0.0)
    likely: list[str] = []
    sampler = CopiesSampler(limits, Watched(), _Known(likely))
    with store.transaction() as connection:
        rules, in_force = put_in_force(connection, TO_2, TO_3)
        copies = list(rules)
        found = connection.exec_driver_sql("SELECT id, url FROM urls")
        urls = dict(map(tuple, found))

        def asked(answers: int) -> list[str]:
            occasion = Occasion(connection, "h.example", answers, rules, in_force, 4.0)
            return [urls[row].removeprefix(H) for row in sampler.release(occasion, copies)]

        first = asked(1)
        assert sorted(name[:4] for name in first) in (
            ["/v1/", "/v2/", "/v3/"],
            ["/v2/", "/v3/"],
        ), "the name, what the first rule makes of it, and what represents both"
        assert len({name[4:] for name in first}) == 1
        likely += [f"{H}/v1/39", f"{H}/v1/none"]
        assert "/v1/39" in asked(16), "it comes at once"
        everything = [name for _ in range(60) for name in asked(5)]
        assert len({name for name in everything if name.startswith("/v1/")}) <= 30
        assert asked(5) == [], "the samples are large enough"
        copies.clear()
        assert asked(5) == []
        assert_counts_are_right(connection)
    store.close()

"""Experience: what a store knows of each family, and how people are told."""

from pathlib import Path

from support.stores import open_store

from canonry.canon.learned import Rewrite
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.life.experience import explain, priors_for
from canonry.storage.learned import rule_rows
from canonry.storage.learned.tracked_rule import TrackedRule

LIMITS = thresholds.load()
WWW = LIMITS.family["www"]


def www(n: int = 0, below: str = "/", **counts: int) -> TrackedRule:
    host = f"h{n}.example"
    return TrackedRule(Rewrite(host, "www", new=f"www.{host}", below=below), **counts)  # type: ignore[arg-type]


def test_rules_for_whole_hosts_are_the_experience_of_a_store(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    slash = Rewrite("h.example", "trailing-slash", new="slash", subdomains=True)
    with store.transaction() as connection:
        assert priors_for(connection, LIMITS) == {
            name: limits.prior for name, limits in LIMITS.family.items()
        }
        rule_rows.put(
            connection,
            [
                *(www(n, agree=5, disagree=30) for n in range(40)),
                www(50, agree=7),  # too few paths
                www(51, "/a/", agree=90),  # a part
                TrackedRule(slash, agree=90),
            ],
        )
        assert rule_rows.outcomes(connection) == {"www": [(5, 30)] * 40}
        found = priors_for(connection, LIMITS)
    assert found["www"].hosts == 40
    assert found["www"].bound(10, 0) < WWW.prior.bound(10, 0)
    assert found["trailing-slash"] == LIMITS.family["trailing-slash"].prior
    store.close()


def test_people_are_told_how_experience_counted() -> None:
    prior = WWW.prior
    assert explain(www(agree=12, moved=12), WWW, prior) == (
        "12 clean paths; the shipped experience counts like 29 more; "
        "lower bound .91 of .90 needed; by its own paths alone, at most 26.5 % are exceptions"
    )
    assert explain(www(agree=1, moved=1), WWW, prior._replace(hosts=34)) == (
        "1 clean path; 34 cases of www in this store, and the shipped experience, "
        "count like 18 more; lower bound .83 of .90 needed; "
        "an active rule needs 8 paths by redirects and canonical links, or 12 in all"
    )
    assert "fewer" in explain(www(agree=40), WWW, prior._replace(a=2.0, b=6.0))


def test_people_are_told_why_experience_does_not_count() -> None:
    assert explain(www(agree=40, disagree=1), WWW, WWW.prior) == (
        "40 paths agree and 1 disagrees, so experience does not count; "
        "lower bound .87 of .99 needed; by its own paths alone, at most 12.9 % are exceptions"
    )
    assert explain(www(below="/a/", agree=16), WWW, WWW.prior) == (
        "16 clean paths; experience does not count for a part of a host; "
        "lower bound .81 of .80 needed; by its own paths alone, at most 20.6 % are exceptions"
    )

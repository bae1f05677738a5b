"""Copies of canonicalizers and of results: by pickle, by copy, in other processes."""

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
from support.tables import each

import canonry
from canonry.canon.policies import from_toml

URLS = (
    "HTTP://A.example:80/%7eb/../c?utm_source=x&b=2&a=1#top",
    "http://www.a.example/c?b=2&a=1",
    "http://a.example/x//y/index.html?PHPSESSID=1",
    "mailto:A@B.example",
    "http://[",
    "",
)
RULE = canonry.LearnedRule(family="host-alias", host="www.a.example", new="a.example")
OWN = from_toml('name = "own"\nversion = 3\npractice = ["fragment", "sorted-query"]', "own.toml")
MADE = {
    **{name: canonry.Canonicalizer(name) for name in ("web", "rfc3986", "search", "archive")},
    "own": canonry.Canonicalizer(OWN),
    "rules": canonry.Canonicalizer("web", canonry.RuleSet([RULE], "web/1")),
}


def pickled(value: Any) -> Any:  # noqa: ANN401 - any value comes back
    """Pickle and unpickle."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own data


def in_a_closure(value: Any) -> Any:  # noqa: ANN401 - as above
    """Send a closure over the value, as Spark does, and return the value from it."""
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")  # only here

    return pickle.loads(cloudpickle.dumps(lambda: value))()  # noqa: S301 - our own data


COPY = [pickled, copy.copy, copy.deepcopy, in_a_closure]


def forms(make: canonry.Canonicalizer) -> list[object]:
    """Return all that a canonicalizer makes of some URLs."""
    many = list(make.many(list(URLS)))
    good = [url for url, one in zip(URLS, many, strict=True) if isinstance(one, canonry.Canonical)]
    return [many, *map(make.explain, good), *map(make.surt, good), make.policy]


@each("copied", COPY)
@each("name", MADE)
def test_a_copied_canonicalizer_makes_the_same_forms(
    name: str, copied: Callable[[Any], Any]
) -> None:
    found = copied(MADE[name])
    assert forms(found) == forms(MADE[name])
    assert (found.native is None) == (MADE[name].native is None)


@pytest.mark.parametrize("copied", COPY)
def test_results_and_errors_are_copied_whole(copied: Callable[[Any], Any]) -> None:
    make = MADE["rules"]
    with pytest.raises(canonry.InvalidURL) as caught:
        make("http://[")
    error = copied(caught.value)
    assert (str(error), error.reason, error.position) == (
        str(caught.value),
        caught.value.reason,
        caught.value.position,
    )
    results = [
        *make.many(list(URLS)),
        make.explain(URLS[0]),
        make.follow("http://www.a.example/c"),
        *canonry.cautions("http://a:b@c/"),
        canonry.parse(URLS[0]),
        canonry.interpret(URLS[3]),
        *canonry.extract("see http://a.example/."),
        RULE,
        OWN,
    ]
    assert copied(results) == results
    assert copied(make.rules).rules == make.rules.rules if make.rules else None


def test_a_spawned_process_gets_a_canonicalizer() -> None:
    make = MADE["rules"]
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawning) as pool:
        found = pool.submit(make, URLS[1]).result()
    assert found == make(URLS[1])
    assert found.identity == "http://a.example/c?b=2&a=1", "the rule acted"

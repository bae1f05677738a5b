"""Dedup of Spark's data frames, on Sail: the answers of the job on one machine."""

import random
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from pysail.spark import SparkConnectServer

import canonry
from canonry.crawler.batch import spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WEB = canonry.Canonicalizer("web")
# It warns of pandas 3, which takes no part in this.
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")


@pytest.fixture(scope="module")
def sail() -> Iterator[object]:
    """Run Sail in this process, on two tasks at once."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setenv("SAIL_EXECUTION__DEFAULT_PARALLELISM", "2")
        patch.setenv("RUST_LOG", "error")
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415 - it warns

        server = SparkConnectServer("127.0.0.1", 0)
        server.start(background=True)
        host, port = server.listening_address
        session = SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate()
        yield session
        session.stop()
        server.stop()


def skewed(count: int) -> list[str]:
    """Make lines: half are of one host, and a fifth are one URL in several spellings."""
    rng = random.Random(count)
    lines = []
    for _ in range(count):
        host = "big.example" if rng.random() < 0.5 else f"h{rng.randrange(99)}.example"
        url = f"http://{host}/{rng.randrange(count // 3)}"
        if rng.random() < 0.2:
            url = rng.choice(["http://big.example/", "HTTP://Big.example:80/#x"])
        lines.append(rng.choice([url, url, url + "?utm_source=x", url.upper(), "no url", ""]))
    return lines


def test_frames_have_the_forms_and_resources_of_their_lines(sail: "SparkSession") -> None:
    lines = skewed(1000)
    frame = sail.createDataFrame([*enumerate(lines)], "n int, link string")
    rows = spark.canonicalized(frame, "link").orderBy("n").collect()
    by_key: dict[bytes, list[str]] = {}
    for line, row, one in zip(lines, rows, WEB.many(lines), strict=True):
        if isinstance(one, canonry.Refused):
            assert (row["canonical"], row["key"]) == (None, None)
            assert row["reason"] == one.reason.name.lower()
        else:
            found = (row["canonical"], bytes(row["key"]), row["reason"])
            assert found == (one.identity, one.key, None)
            by_key.setdefault(one.key, []).append(line)
    for order, stands in (("n", lambda urls: urls[0]), (None, min)):
        spread = frame.repartition(3)
        found = spark.distinct(spread, "link", order=order).collect()
        assert {bytes(row["key"]): (row["url"], row["rows"]) for row in found} == {
            key: (stands(urls), len(urls)) for key, urls in by_key.items()
        }


def test_the_best_row_of_each_resource_is_one_aggregate(sail: "SparkSession") -> None:
    """As docs/reference/dedup.md has it, beside `dedup --prefer`."""
    rows = [("http://a.example/#x", 1), ("http://a.example/", 2), ("http://b.example/", 1)]
    frame = sail.createDataFrame(rows, "url string, fetched int")
    f = spark.functions_of(frame)
    best = spark.canonicalized(frame).groupBy("key").agg(f.max_by("url", "fetched").alias("url"))
    assert {row["url"] for row in best.collect()} == {"http://a.example/", "http://b.example/"}


def test_learned_rules_go_to_the_tasks(sail: "SparkSession") -> None:
    rule = canonry.LearnedRule(host="h.example", family="trailing-slash", new="bare")
    rules = canonry.RuleSet([rule], WEB.policy.label)
    urls = [f"http://{host}.example/a{end}" for host in "hg" for end in ("/", "")]
    frame = sail.createDataFrame([(url,) for url in urls], "url string")
    assert spark.distinct(frame, rules=rules).count() == 3
    assert spark.distinct(frame).count() == 4

"""Rules for other programs: what is written does what the rule does, and nothing else."""

import json
import re
from itertools import product
from xml.etree import ElementTree as ET

from support.tables import each

from canonry.canon.learned import FAMILIES, Rewrite, act
from canonry.canon.syntax import Parts
from canonry.crawler.rule_lists import convert
from canonry.crawler.rule_lists.written import FORMATS, written

PATHS = [
    *("/", "/a", "/a/", "/a.b", "/a.b/", "/old/x", "/old/", "/x/old/y", "/s/home.php", "/home.php"),
    *("/homexphp", "/s/a/b", "/s/a/", "/article/7/any-words"),
]
QUERIES = ["", "?ref=1", "?ref", "?a=1&ref=2", "?ref=2&a=1", "?a=1&ref&b=2", "?xref=1", "?refs=1&a"]
STARTS = ["http://h.example", "https://h.example", "https://www.h.example", "http://o.example"]
URLS = ["".join(one) for one in product(STARTS, PATHS, QUERIES)]
RULES = [
    Rewrite("h.example", "scheme-upgrade"),
    Rewrite("h.example", "www", new="www.h.example"),
    Rewrite("h.example", "host-alias", new="o.example"),
    Rewrite("h.example", "path-prefix", old="/old/", new="/new/"),
    Rewrite("h.example", "index-file", old="home.php"),
    Rewrite("h.example", "index-file", below="/s/", old="home.php"),
    Rewrite("h.example", "trailing-slash", new="slash"),
    Rewrite("h.example", "trailing-slash", new="bare"),
    Rewrite("h.example", "parameter-anywhere", old="ref"),
    Rewrite("h.example", "parameter-anywhere", below="/s/", old="ref"),
    Rewrite("h.example", "parameter-anywhere", old="ref", new="any-case", subdomains=True),
]


def stormcrawler(rule: Rewrite, url: str) -> str:
    """Return what StormCrawler's normalizer makes of a URL."""
    text, _said, _left = written("stormcrawler", [rule])
    for regex in ET.fromstring(text):  # noqa: S314 - our own
        pattern, put = (str(one.text) for one in regex)
        url = re.sub(pattern, re.sub(r"\$([0-9])", r"\\\1", put), url)
    return url


@each("rule", RULES)
def test_patterns_do_what_a_rule_does(rule: Rewrite) -> None:
    changed = 0
    for url in URLS:
        after = str(act(rule, Parts.of(url)))
        assert stormcrawler(rule, url) == after, url
        changed += after != url
    assert changed


def test_nginx_has_the_same_patterns() -> None:
    text, said, left = written("nginx", RULES)
    assert (said, left.total()) == (len(RULES), 0)
    assert '"~^(?<a>https?://h\\.example)/old/(?<b>.*)$" "${a}/new/${b}";' in text


def test_our_own_reader_reads_what_is_written_for_clearurls() -> None:
    rules = RULES[-3:-1]
    text, said, _left = written("clearurls", rules)
    assert said == len(rules)
    found = {(rule.host, rule.below, rule.old) for rule in convert(text.encode(), "c").rules}
    assert found == {(rule.host, rule.below, rule.old) for rule in rules}
    assert [one["rules"] for one in json.loads(text)["providers"].values()] == [["ref"], ["ref"]]


def test_what_cannot_be_said_is_counted() -> None:
    rules = [
        Rewrite("h.example", name, **family.example)
        for name, family in FAMILIES.items()
        if name != "trailing-slash"
    ]
    counts = {name: written(name, rules)[1:] for name in FORMATS}
    assert counts["clearurls"][0] == 1
    assert counts["nginx"][0] == counts["stormcrawler"][0] == 6
    left = counts["nginx"][1]
    assert left["parameter-irrelevant"] == left["letter-case"] == left["path-slug"] == 1
    narrow = [Rewrite("h.example", "trailing-slash", below="/s/", new="bare")]
    narrow.append(
        Rewrite("example", "parameter-anywhere", old="a", subdomains=True, but=("b.example",))
    )
    assert written("nginx", narrow)[1] == 0

"""Lists of rules of others: what is converted means no more than it did, the rest is reported."""

import json
import re
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import tries
from support.tables import each

from canonry.canon import Canonicalizer, RulesError, RuleSet
from canonry.crawler.cli.commands import main
from canonry.crawler.rule_lists import Conversion, convert, summary

PLAIN = Canonicalizer("web")
ANY = r"^https?:\/\/(?:[a-z0-9-]+\.)*?"


def read(content: object) -> Conversion:
    return convert(json.dumps(content).encode(), "list.json")


def only(content: object) -> tuple[str, list[str], list[str]]:
    """Return what became of the one rule of a list: outcome, reasons, our rules."""
    found = read(content)
    [one] = found.found
    said = [
        f"{r.host}{'+' if r.subdomains else ''}{r.below} {r.family} {r.old}{r.new and '/i'} "
        f"{','.join(r.beside)}".rstrip()
        for r in one.rules
    ]
    return one.outcome, [lost.name for lost in one.lost], said


def clearurls(pattern: str, *rules: str, **more: object) -> dict[str, object]:
    return {"providers": {"p": {"urlPattern": pattern, "rules": list(rules), **more}}}


def zyte(processor: str, include: str, *args: object, **more: object) -> list[dict[str, object]]:
    pattern = {"include": [include], **more}
    return [{"processor": processor, "order": 0, "urlPattern": pattern, "args": list(args)}]


@each(
    ("content", "outcome", "reasons", "says"),
    [
        (clearurls(ANY + r"msn\.com", "ocid"), "part", ["OPEN_END"],
         ["msn.com+/ parameter-anywhere ocid/i"]),
        (clearurls(r"^https?:\/\/(?:accounts\.)?firefox\.com", "ID"), "part", ["OPEN_END"],
         ["firefox.com/ parameter-anywhere id/i", "accounts.firefox.com/ parameter-anywhere id/i"]),
        (clearurls(ANY + r"nikkei\.co(?:m|\.jp)", "srs?"), "part", ["OPEN_END"],
         [f"nikkei.co{end}+/ parameter-anywhere {name}/i"
          for name in ("sr", "srs") for end in ("m", ".jp")]),
        (clearurls(ANY + r"linkedin\.com\/learning", "u"), "part", ["OPEN_END", "PATH_CASE"],
         ["linkedin.com+/learning/ parameter-anywhere u/i"]),
        (clearurls(ANY + r"h\.com", r"p\[\]"), "part", ["OPEN_END"],
         ["h.com+/ parameter-anywhere p%5b%5d/i"]),
        (clearurls(ANY + r"h\.com", "a:b"), "part", ["OPEN_END", "ESCAPES"],
         ["h.com+/ parameter-anywhere a:b/i", "h.com+/ parameter-anywhere a%3ab/i"]),
        (clearurls(ANY + r"h\.com", "%24a"), "part", ["OPEN_END", "ESCAPES"],
         ["h.com+/ parameter-anywhere %2524a/i"]),
        (clearurls(".*", "utm"), "none", ["EVERY_HOST"], []),
        (clearurls(ANY + r"amazon(?:\.[a-z]{2,}){1,}", "qid"), "none", ["HOSTS"], []),
        (clearurls(ANY + r"co\.uk", "qid"), "none", ["SUFFIX"], []),
        (clearurls(r"^https?:\/\/([a-z0-9-.]*\.)h\.com", "src"), "none", ["HOSTS"], []),
        (clearurls(ANY + r"h\.com\/s\?", "src"), "none", ["PATH"], []),
        (clearurls(ANY + r"h\.com\/?", "src"), "none", ["PATH"], []),
        (clearurls(ANY + r"h\.com\/a\.html", "src"), "none", ["PATH"], []),
        (clearurls(ANY + r"h\.com", "src", exceptions=["x"]), "none", ["EXCEPTIONS"], []),
        (clearurls(ANY + r"h\.com", "utm_[a-z]*"), "none", ["NAMES"], []),
        (clearurls(ANY + r"h\.com", "a|b"), "none", ["NAMES"], []),
        (clearurls(ANY + r"h\.com", "(a"), "none", ["NAMES"], []),
        (clearurls(ANY + r"h\.com", "("*2000), "none", ["NAMES"], []),
        (clearurls(ANY + r"h\.com", "[ab]{9}{9}"), "none", ["NAMES"], []),
        (clearurls(ANY + r"h\.com", "[!-~][!-~]"), "none", ["NAMES"], []),
        (clearurls(r"h\.com", "a"), "none", ["PATTERN"], []),
        (clearurls(ANY + r"h\.com", rawRules=["/ref=.*"]), "none", ["PATTERN"], []),
        (clearurls(ANY + r"h\.com", redirections=["u=(.*)"]), "none", ["TARGET"], []),
        (clearurls(ANY + r"h\.com", completeProvider=True), "none", ["BLOCKS"], []),
        ({"providers": {"p": 7}}, "none", ["INVALID"], []),
        (zyte("queryRemoval", "H.com", "a"), "whole", [], ["h.com+/ parameter-anywhere a"]),
        (zyte("queryRemoval", "é.com", "A"), "whole", [], ["xn--9ca.com+/ parameter-anywhere A"]),
        (zyte("queryRemoval", "h.com:8080", "a"), "part", ["SUBDOMAINS"],
         ["h.com:8080/ parameter-anywhere a"]),
        (zyte("queryRemoval", "blogspot.com", "a"), "part", ["SUBDOMAINS"],
         ["blogspot.com/ parameter-anywhere a"]),
        (zyte("queryRemoval", "h.com/c/", "a"), "part", ["PATH_CASE"],
         ["www.h.com/c/ parameter-anywhere a", "h.com/c/ parameter-anywhere a"]),
        (zyte("queryRemovalExcept", "h.com/dp"), "part", ["OPEN_END", "PATH_CASE"],
         ["www.h.com/dp/ query-selection", "h.com/dp/ query-selection"]),
        (zyte("queryRemovalExcept", "h.com", "q", "p"), "part", ["EMPTY"],
         ["h.com+/ query-selection  p,q"]),
        (zyte("normalizer", "h.com"), "part", ["WWW"],
         ["h.com+/ trailing-slash /i", "h.com+/ trailing-slash /i", "www.h.com/ www /i"]),
        (zyte("queryRemoval", "h.com", "utm_source"), "whole", [],
         ["h.com+/ parameter-anywhere utm_source"]),
        (zyte("normalizer", ""), "none", ["EVERY_HOST"], []),
        (zyte("subpathRemoval", "h.com", 0), "none", ["SEGMENTS"], []),
        (zyte("queryRemoval", "h.com/*/dp", "a"), "none", ["PATH"], []),
        (zyte("queryRemoval", "h.com/dp|", "a"), "none", ["PATH"], []),
        (zyte("queryRemoval", "*.h.com", "a"), "none", ["HOSTS"], []),
        (zyte("queryRemoval", "https://h.com", "a"), "none", ["SCHEME"], []),
        (zyte("queryRemoval", "h.com:443", "a"), "none", ["SCHEME"], []),
        (zyte("queryRemoval", "h.com:80", "a"), "none", ["SCHEME"], []),
        (zyte("queryRemoval", "h.com/?a=1", "a"), "none", ["QUERY"], []),
        (zyte("queryRemoval", "h.com", "a", exclude=["h.com/x"]), "none", ["EXCEPTIONS"], []),
        (zyte("queryRemoval", "h.com", "a[é]"), "none", ["NAMES"], []),
        (zyte("queryRemoval", "h.com", ""), "none", ["INVALID"], []),
        (zyte("queryRemoval", "u@h.com", "a"), "none", ["INVALID"], []),
        (zyte("shuffle", "h.com", "a"), "none", ["INVALID"], []),
    ],
)  # fmt: skip
def test_each_reason(content: object, outcome: str, reasons: list[str], says: list[str]) -> None:
    assert only(content) == (outcome, reasons, says)


# What each list means, written down from its own program: two URLs are equal if the list makes the
# same of both.


def by_clearurls(content: dict[str, object], url: str) -> str:
    for provider in content["providers"].values():  # type: ignore[attr-defined]
        if not re.search(provider["urlPattern"], url, re.IGNORECASE):
            continue
        if any(re.search(one, url, re.IGNORECASE) for one in provider.get("exceptions", ())):
            continue
        base, mark, query = url.partition("?")
        fields = parse_qsl(query, keep_blank_values=True)
        for rule in provider["rules"]:
            fields = [f for f in fields if not re.search(f"^{rule}$", f[0], re.IGNORECASE)]
        url = f"{base}?{fields}" if mark and fields else base
    return url


def by_zyte(content: list[dict[str, object]], url: str) -> str:
    parts = urlsplit(url)
    for rule in content:
        host, slash, path = rule["urlPattern"]["include"][0].partition("/")  # type: ignore[index]
        before = "" if slash else r"(?:.*\.)?"
        if not re.fullmatch(rf"(?:www.)?{before}{re.escape(host)}", parts.netloc):
            continue
        if not re.match(re.escape(slash + path), parts.path, re.IGNORECASE):
            continue
        base, _, query = url.partition("?")
        keep = rule["processor"] == "queryRemovalExcept"
        args = rule["args"]
        left = [f for f in query.split("&") if f and (f.partition("=")[0] in args) is keep]  # type: ignore[operator]
        url = "?".join([base, "&".join(left)]) if left else base
    return url


HOSTS = ["h.com", "www.h.com", "a.h.com", "a_b.h.com", "xh.com", "h.com.x.org", "h.com:8080",
         "www.a.h.com", "o.org"]  # fmt: skip
PATHS = ["/", "/c/", "/c/x", "/cx", "/C/x", "/dp", "/dp/1", "/d"]
NAMES = ["a", "A", "ab", "b", "p[]", "P%5B%5D", "a:b", "A%3Ab", "%2561", "id"]
queries = st.lists(
    st.builds(lambda n, v: n + v, st.sampled_from(NAMES), st.sampled_from(["", "=", "=1", "=2"])),
    max_size=4,
).map(lambda fields: "?" + "&".join(fields) if fields else "")
urls = st.builds(
    lambda scheme, host, path, query: f"{scheme}://{host}{path}{query}",
    st.sampled_from(["http", "https"]),
    st.sampled_from(HOSTS),
    st.sampled_from(PATHS),
    queries,
).map(PLAIN.identity)
names = st.sampled_from(
    ["a", "A", "ab?", "(?:a|b)", "[ab]", r"p\[\]", "a:b", "%61", "a.", "a*", "a|b"]
)
providers = st.builds(
    lambda pattern, rules, exceptions: clearurls(pattern, *rules, exceptions=exceptions),
    st.sampled_from([ANY, r"^https?://", "https?://"]).flatmap(
        lambda begin: st.sampled_from(
            [begin + end for end in
             (r"h\.com", r"(?:a\.)?h\.com", r"h.com", r"h\.com/c", r"h\.com/c/", r"h\.com/C/",
              r"(h\.com|o\.org)", r"h\.com/dp", r"h\.com/?", r"h\.com$", r"h\.com(?:/c)?", ".*")]
        )
    ),
    st.lists(names, max_size=3, unique=True),
    st.sampled_from([[], [], [r"h\.com/c"]]),
)  # fmt: skip
discarders = st.lists(
    st.builds(
        lambda processor, include, args: zyte(processor, include, *args)[0],
        st.sampled_from(["queryRemoval", "queryRemovalExcept"]),
        st.sampled_from(["h.com", "www.h.com", "a.h.com", "h.com/c/", "h.com/c", "h.com/", "com"]),
        st.lists(st.sampled_from(["a", "A", "b", "p[]", "a:b", "id"]), max_size=2, unique=True),
    ),
    min_size=1,
    max_size=3,
)


def never_wider(content: object, url: str, other: str, by: object) -> None:
    """Two URLs that our rules merge are equal for the list, too."""
    ours = Canonicalizer("web", RuleSet(read(content).rules, "web/1"))
    if ours.identity(url) == ours.identity(other):
        assert by(content, url) == by(content, other)  # type: ignore[operator]


def with_and_without(url: str) -> list[str]:
    """Return a URL with each set of its fields: the URLs that a rule may merge it with."""
    base, _, query = url.partition("?")
    fields = query.split("&") if query else []
    kept = [
        [f for n, f in enumerate(fields) if not bits >> n & 1] for bits in range(2 ** len(fields))
    ]
    return [PLAIN.identity(f"{base}?{'&'.join(some)}" if some else base) for some in kept]


@given(providers, urls)
@settings(max_examples=tries(1.0))
def test_no_rule_of_clearurls_becomes_wider(content: dict[str, object], url: str) -> None:
    for other in with_and_without(url):
        never_wider(content, url, other, by_clearurls)


@given(discarders, urls)
@settings(max_examples=tries(1.0))
def test_no_rule_of_duplicate_url_discarder_becomes_wider(content: object, url: str) -> None:
    for other in with_and_without(url):
        never_wider(content, url, other, by_zyte)


def test_a_rule_that_is_converted_whole_merges_all_that_the_list_merges() -> None:
    content = zyte("queryRemoval", "h.com", "a", "id")
    ours = Canonicalizer("web", RuleSet(read(content).rules, "web/1"))
    assert summary([read(content)])["converted"] == 2
    for url in ("http://h.com/?a=1&b=2", "https://w.h.com/x?id=1&A=2&a", "http://xh.com/?a=1"):
        assert ours.identity(url) == PLAIN.identity(by_zyte(content, url))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"{}", "no list of rules that Canonry converts; give ClearURLs"),
        (b"[]", "no list of rules"),
        (b"[1]", "no list of rules"),
        (b"rules: 7", "list.json: not JSON: "),
        (b"\xff\xfe\xff", "list.json: not JSON: "),
        (b"[" * 100_000, "list.json: "),
    ],
)
def test_a_file_that_is_no_list_is_refused(text: bytes, says: str) -> None:
    with pytest.raises(RulesError) as caught:
        convert(text, "list.json")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_command_converts_and_the_others_take_its_file(
    tmp_path: Path,
) -> None:
    run = CliRunner()
    lists = tmp_path / "rules.json", tmp_path / "data.min.json"
    lists[0].write_text(json.dumps(zyte("queryRemovalExcept", "h.com/v/")))
    lists[1].write_text(json.dumps(clearurls(ANY + r"h\.com", "ref", "utm_.*")))
    out = str(tmp_path / "ours.json")
    done = run.invoke(main, ["rules", "convert", *map(str, lists), "-o", out])
    assert (done.exit_code, done.stdout) == (0, "")
    assert "3 rules: 0 converted, 2 in part, 1 not; 3 rules of Canonry" in done.stderr
    assert "1 rule: the names of its parameters cannot be listed\n    p: utm_.*\n" in done.stderr
    urls_given = ["http://a.h.com/x?REF=1&id=2", "http://h.com/v/1?x=1", "http://o.org/?ref=1"]
    wanted = ["http://a.h.com/x?id=2", "http://h.com/v/1", "http://o.org/?ref=1"]
    done = run.invoke(main, ["canon", "--rules", out, *urls_given])
    assert done.stdout.split() == wanted
    lines = tmp_path / "in.txt"
    lines.write_text("\n".join([*urls_given, "http://h.com/v/1?x=2"]))
    done = run.invoke(main, ["dedup", str(lines), "--rules", out, "--workers", "1"])
    assert done.stdout.split() == urls_given
    done = run.invoke(main, ["rules", "convert", str(lists[1]), "--json"])
    whole = json.loads(done.stdout)
    assert whole.pop("outcomes") == [
        {"name": "p: ref", "outcome": "part", "reasons": ["open_end"]},
        {"name": "p: utm_.*", "outcome": "none", "reasons": ["names"]},
    ]
    assert whole == {
        "formats": ["clearurls"],
        "rules": 2,
        "converted": 0,
        "in_part": 1,
        "not_converted": 1,
        "made": 1,
        "reasons": {"open_end": 1, "names": 1},
    }
    done = run.invoke(main, ["rules", "convert", str(lists[1])])
    assert json.loads(done.stdout)["rules"][0]["old"] == "ref"
    done = run.invoke(main, ["rules", "convert", out])
    assert done.exit_code == 2
    assert "no list of rules that Canonry converts" in done.stderr

"""Rewrites inferred from pairs of URLs, and the loose forms under which such URLs meet."""

from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import share, tries
from support.tables import each

from canonry.canon.learned.families import act
from canonry.canon.learned.rewrite import Rewrite
from canonry.canon.learned.validate import fault
from canonry.canon.syntax import Parts
from canonry.crawler.learn.rules.infer import rewrites_between, rewrites_from
from canonry.crawler.learn.rules.loose_forms import loose_forms

H = "http://h.example"


def read(source: str, target: str) -> list[str]:
    """Return the rewrites of a pair, abbreviated."""
    return [
        " ".join([rewrite.family, *filter(None, (rewrite.old, rewrite.new)), *rewrite.beside])
        for rewrite in rewrites_from(Parts.of(source), Parts.of(target))
    ]


@each(
    ("source", "target", "rewrites"),
    [
        (f"{H}/a", "https://h.example/a", ["scheme-upgrade"]),
        (f"{H}/a", "http://www.h.example/a", ["www www.h.example"]),
        ("http://www.h.example/a", f"{H}/a", ["www h.example"]),
        (f"{H}/a", "http://other.example/a", ["host-alias other.example"]),
        ("http://old.shop.com/a", "http://new.shop.com/a", ["host-alias new.shop.com"]),
        ("http://shop.com/a", "http://shop.org/a", ["host-alias shop.org"]),
        (f"{H}/a", f"{H}/a/", ["trailing-slash slash"]),
        (f"{H}/a/", f"{H}/a", ["trailing-slash bare"]),
        (f"{H}/a.html/", f"{H}/a.html", ["trailing-slash file"]),
        (f"{H}/a/index.php", f"{H}/a/", ["index-file index.php"]),
        (f"{H}/a/index.php", f"{H}/a", ["index-file index.php", "trailing-slash bare"]),
        (f"{H}/About", f"{H}/about", ["letter-case"]),
        (f"{H}/a//b", f"{H}/a/b", ["double-slash"]),
        (f"{H}/old/a/b", f"{H}/new/a/b", ["path-prefix /old/ /new/"]),
        (f"{H}/cms/a", f"{H}/a", ["path-prefix /cms/ /"]),
        (f"{H}/old//d//a", f"{H}/d/a", ["double-slash", "path-prefix /old/ /"]),
        (f"{H}/old/d/index.php", f"{H}/d/", ["path-prefix /old/ /", "index-file index.php"]),
        (f"{H}/old//d/", f"{H}/b/", []),
        (f"{H}/a?b=1&a=2", f"{H}/a?a=2&b=1", ["parameter-order"]),
        (f"{H}/(S(a1))/a", f"{H}/a", ["session-segment"]),
        (f"{H}/(S(a1))/a/", f"{H}/a", ["session-segment", "trailing-slash bare"]),
        (f"{H}/a;s=1", f"{H}/a", ["path-parameter s"]),
        (f"{H}/b;s=1/;s=2?id=1", f"{H}/b/?id=1", ["path-parameter s"]),
        (f"{H}/a;s=1;v=2", f"{H}/a;v=2", ["path-parameter s"]),
        (f"{H}/a;s=1;v=2", f"{H}/a", ["path-parameter s", "path-parameter v"]),
        (f"{H}/a/index.php;s", f"{H}/a/", ["path-parameter s", "index-file index.php"]),
        (f"{H}:8080/a", f"{H}:8080/a/", ["trailing-slash slash"]),
        ("https://[::1]/A", "https://[::1]/a", ["letter-case"]),
        ("http://localhost/old/a", "http://localhost/new/a", ["path-prefix /old/ /new/"]),
        (
            f"{H}/A//b",
            "https://www.h.example/a/b/",
            [
                "scheme-upgrade",
                "double-slash",
                "letter-case",
                "trailing-slash slash",
                "www www.h.example",
            ],
        ),
    ],
)
def test_rewrites_of_a_pair(source: str, target: str, rewrites: list[str]) -> None:
    assert read(source, target) == rewrites


@each(
    ("source", "target"),
    [
        (f"{H}/deep/page", f"{H}/"),  # home
        (f"{H}/deep/page", "https://h.example/"),
        (f"{H}/a", f"{H}/b"),
        (f"{H}/a", f"{H}/login?next=%2Fa"),  # walls
        (f"{H}/a/b", f"{H}/login/a/b"),
        (f"{H}/a", "http://consent.example/a"),
        (f"{H}/a", "http://login.h.example/a"),
        (f"{H}/a", f"{H}/en/a"),  # languages and places
        (f"{H}/en/a", f"{H}/de/a"),
        (f"{H}/x/en/a", f"{H}/x/en-gb/a"),
        (f"{H}/a", "http://de.h.example/a"),
        ("http://en.wiki.example/a", "http://de.wiki.example/a"),
        ("http://en.wiki.example/a", "http://shop.wiki.example/a"),
        ("http://shop.wiki.example/a", "http://en.wiki.example/a"),
        ("http://en.h.example/a", f"{H}/a"),
        ("http://example.com/a", "http://example.de/a"),
        ("http://example.de/a", "http://example.com/a"),
        ("http://example.co.uk/a", "http://example.fr/a"),
        ("http://www.example.com/a", "http://example.fr/a"),
        (f"{H}/docs/x.pdf", "http://other.example/files/77/x.pdf"),  # page by page
        (f"{H}/a?id=1", f"{H}/a?id=2"),
        (f"{H}/a", f"{H}/(S(a1))/a"),
        (f"{H}/a;v=1", f"{H}/a;v=2"),
        (f"{H}/a", f"{H}/a;s=1"),
        (f"{H}/a;v=1/x", f"{H}/b/x"),
        (f"{H}/a?", f"{H}/a"),
        (f"{H}/a?id=1", f"{H}/a?id=1&session=9"),
        (f"{H}/a?b=1&a=2&c=3", f"{H}/a?c=3&b=1"),
        ("https://h.example/a", f"{H}/a"),  # down again
        (f"{H}:8080/a", f"{H}/a"),  # a port, or an address, is a site of its own
        (f"{H}/a", f"{H}:8080/a"),
        (f"{H}:8080/a", "https://h.example:8443/a"),
        (f"{H}:8080/a", "https://h.example:8080/a"),
        (f"{H}:8080/a", "http://www.h.example:8080/a"),
        ("http://127.0.0.1/a", "https://127.0.0.1/a"),
        ("http://127.0.0.1/a", "http://127.0.0.2/a"),
        ("http://localhost/a", "https://localhost/a"),
        ("http://u@h.example/a", f"{H}/a"),
        ("ftp://h.example/a", f"{H}/a"),
        ("http://127.0.0.1/a", f"{H}/a"),
        (f"{H}/a", f"{H}/a"),
    ],
)
def test_pairs_that_no_rewrite_explains(source: str, target: str) -> None:
    assert read(source, target) == []


@each(
    ("one", "other", "rewrites"),
    [
        (f"{H}/a", f"{H}/a/", [("trailing-slash", "bare")]),
        ("https://h.example/a", f"{H}/a", [("scheme-upgrade", "")]),
        (f"{H}/d/a;s=1", f"{H}/d/a;s=2", [("path-parameter", "s")]),
        (f"{H}/d;s=1/a;s=1", f"{H}/d;s=2/a;s=2", [("path-parameter", "s")]),
        (f"{H}/d/a;v=1;s=1", f"{H}/d/a;v=1;s=2", [("path-parameter", "s")]),
        (f"{H}/D/a", f"{H}/d/a", [("letter-case", "")]),
        (f"{H}/a;v=1;s=1", f"{H}/a;v=2;s=2", []),
        (f"{H}/a;v=1", f"{H}/b;v=1", []),
        (f"{H}/a?x=1&y=1", f"{H}/a?y=2&x=2", []),
        (f"{H}/a?b=1&c=2&a=3", f"{H}/a?c=2&a=3&b=1", [("parameter-order", "")]),
        (f"{H}/a?b=1&b=2&a=3", f"{H}/a?a=3&b=2&b=1", []),
        (f"{H}/(S(a1))/a", f"{H}/(S(b2))/a", [("session-segment", "")]),
        (f"{H}/(S(a1))/a", f"{H}/(S(a1))/b", []),
        (f"{H}/a", f"{H}/a", []),
    ],
)
def test_equal_pages_have_the_same_rewrites_in_either_order(
    one: str, other: str, rewrites: list[tuple[str, str]]
) -> None:
    for pair in ((one, other), (other, one)):
        found = rewrites_between(*map(Parts.of, pair))
        assert [(said.family, said.old or said.new) for said in found] == rewrites


_SITES = ["h.example", "www.h.example", "o.example", "h.example:8080", "127.0.0.1"]
_PATHS = st.lists(
    st.sampled_from(["a", "B", "index.html", "x.y", "", "a;s=1", "a;s=2", "..;v"]), max_size=4
).map(lambda segments: "/" + "/".join(segments))
_QUERIES = st.sampled_from([None, "", "a=1", "b=1&a=1", "a=1&b=1", "a=1&b=2&c", "c"])
_PARTS = st.builds(
    lambda scheme, site, path, query: Parts.of(f"{scheme}://{site}{path}")._replace(query=query),
    st.sampled_from(["http", "https"]),
    st.sampled_from(_SITES),
    _PATHS,
    _QUERIES,
)


def _variant(parts: Parts, habits: list[str]) -> Parts:
    """Return another spelling of a URL, by habits of hosts."""
    scheme, site, path, query = parts.scheme, parts.host or "", parts.path, parts.query
    for habit in habits:
        if habit == "https":
            scheme = "https"
        elif habit == "www":
            site = f"www.{site}"
        elif habit in {"/", "index.html", "/index.php", ";s=1", ";s=2;v"}:
            path += habit
        elif habit == "(S(1))":
            path = f"/{habit}{path}"
        elif habit == "//":
            path = path.replace("/", "//", 1)
        elif habit == "upper":
            path = path.upper()
        elif habit == "sort":
            query = "&".join(sorted(query.split("&"))) if query else query
        else:
            query = f"{query}&{habit}" if query else habit
    return parts._replace(scheme=scheme, host=site, path=path, query=query)


_HABITS = ["https", "www", "/", "index.html", "/index.php", ";s=1", ";s=2;v", "//", "upper",
           "sort", "(S(1))"]  # fmt: skip
_PAIRS = st.tuples(_PARTS, _PARTS) | st.builds(
    lambda parts, one, other: (_variant(parts, one), _variant(parts, other)),
    _PARTS,
    st.lists(st.sampled_from(_HABITS), max_size=3, unique=True),
    st.lists(st.sampled_from(_HABITS), max_size=2, unique=True),
)


def test_many_pairs_have_rewrites() -> None:
    """Otherwise the laws below would test nothing."""
    assert share(_PAIRS, lambda pair: bool(rewrites_from(*pair))) > 0.05
    assert share(_PAIRS, lambda pair: are_near(rewrites_between(*pair))) > 0.1


@given(_PAIRS)
@settings(max_examples=tries(3))
def test_rewrites_lead_from_the_source_to_the_target(pair: tuple[Parts, Parts]) -> None:
    source, target = pair
    parts = source
    for rewrite in rewrites_from(source, target):
        assert fault(rewrite) is None
        after = act(rewrite, parts)
        assert after is not parts
        parts = after
    if parts is not source:
        assert parts == target


@given(_PAIRS)
@settings(max_examples=tries(3))
def test_the_order_of_two_equal_pages_means_nothing(pair: tuple[Parts, Parts]) -> None:
    one, other = pair
    assert rewrites_between(one, other) == rewrites_between(other, one)
    assert all(fault(rewrite) is None for rewrite in rewrites_between(one, other))


def are_near(rewrites: tuple[Rewrite, ...]) -> bool:
    """Return True if some rewrites are such that their URLs have to meet."""
    families = {rewrite.family for rewrite in rewrites}
    return bool(families) and not {"host-alias", "path-prefix"} & families


@given(_PAIRS)
@settings(max_examples=tries(5))
def test_urls_that_rewrites_could_make_equal_meet(pair: tuple[Parts, Parts]) -> None:
    if are_near(rewrites_between(*pair)):
        assert set(loose_forms(pair[0])) & set(loose_forms(pair[1]))


@each(
    ("url", "forms"),
    [
        (f"{H}/", ["h.example"]),
        ("https://www.h.example/A//b/index.html;s=1/", ["h.example/a/b"]),
        (
            "http://127.0.0.1:8000/a?b=1&a=2",
            [*("127.0.0.1:8000/a?" + end for end in ("a=2&b=1", "b=1", "a=2")), "127.0.0.1:8000/a"],
        ),
        (
            f"{H}/a?a=1&b=2&c=3",
            [
                *("h.example/a?" + end for end in ("a=1&b=2&c=3", "b=2&c=3", "a=1&c=3", "a=1&b=2")),
                *("h.example/a?" + end for end in ("a=1", "b=2", "c=3")),
                "h.example/a",
            ],
        ),
        (f"{H}/?" + "&".join(f"p{n}" for n in range(6)), 7 + 7),
        (f"{H}/?a=1", ["h.example?a=1", "h.example"]),
        (f"{H}/?" + "&".join(f"p{n}" for n in range(9)), 7),
        (f"{H}/article/7/any-words", ["h.example/article/7/any-words", "h.example/article/7*"]),
        (f"{H}/article/7", ["h.example/article/7", "h.example/article/7*"]),
        (f"{H}/t/any-words/7/", ["h.example/t/any-words/7", "h.example/t/-/7*"]),
        (f"{H}/any-words-7.html", ["h.example/any-words-7.html", "h.example/7.html*"]),
        ("http://u@h.example/", []),
        ("ftp://h.example/", []),
    ],
)
def test_loose_forms(url: str, forms: list[str] | int) -> None:
    found = loose_forms(Parts.of(url))
    if isinstance(forms, int):
        assert len(found) == forms
    else:
        assert sorted(found) == sorted(forms)

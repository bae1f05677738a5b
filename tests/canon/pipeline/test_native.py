"""The compiled kernel gives the answers of the plain pipeline, or none."""

import hashlib
import shutil
import subprocess
import sys
import tracemalloc
from functools import partial
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import anything, guessed, raw, share, texts, tidy, urls
from support.tables import each

import canonry
from canonry.canon.pipeline import native
from canonry.canon.pipeline.canonical import Canonical
from canonry.canon.policies import from_toml, preset

pytestmark = pytest.mark.skipif(native.VERSION == 0, reason="needs the compiled kernel")

WEB = canonry.Canonicalizer("web")
_MINE = """
name = "mine"
version = 1
practice = [{}]
[replace]
tracking = ["x", "from"]
tracking_prefixes = ["utm_", "t."]
"""
_SOME = [
    *("", '"tracking"', '"empty-query"', '"fragment", "tracking"'),
    '"tracking", "session-id", "www", "trailing-slash", "letter-case", "index-file", "userinfo"',
    '"decode-escapes", "letter-case", "session-id", "sorted-query", "duplicate-slashes"',
    '"session-id", "archive-order", "scheme-fold", "all-slashes", "host-dot", "sorted-query"',
]
MAKERS = [
    WEB,
    canonry.Canonicalizer("search"),
    canonry.Canonicalizer("archive"),
    *(canonry.Canonicalizer(from_toml(_MINE.format(rules), "mine.toml")) for rules in _SOME),
]


def pure(policy: str) -> canonry.Canonicalizer:
    """Return a canonicalizer without the compiled kernel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "VERSION", 0)
        return canonry.Canonicalizer(policy)


PURE = pure("web")


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: str(sorted(make.policy.practice)))
@given(url=tidy | guessed | urls | anything | raw | tidy.map(str.encode))
def test_the_kernel_answers_as_the_plain_pipeline(
    make: canonry.Canonicalizer, url: str | bytes
) -> None:
    assert make.native is not None
    found = make.native.canonical(url)
    if found is not None:
        assert found == make.plain(url)
        assert type(found) is Canonical
        assert make.native.identity(url) == found.identity
    assert make.native.canonicals([url]) == [found]


@each("make", MAKERS)
def test_the_kernel_answers_for_many_urls(make: canonry.Canonicalizer) -> None:
    """Else the law above would hold for a kernel that never answers."""
    assert make.native is not None
    for made in (tidy, guessed):
        assert share(made, lambda url: make.native.canonical(url) is not None) > 0.2


@given(lines=st.lists(tidy.map(str.encode) | raw | st.binary(max_size=300), max_size=12))
def test_blocks_of_lines_get_the_same_keys_as_single_lines(lines: list[bytes]) -> None:
    """Lines that the kernel cannot handle are marked as unknown; canonical ones have no hash.

    The rules that acted are those that merge a line with its identity, or are left open.
    """
    assert WEB.native is not None
    block = b"\n".join(lines)
    given_lines = block.split(b"\n")
    keys, texts, masks, ends = WEB.native.lines(block, len(given_lines))
    rules = memoryview(masks).cast("i").tolist()
    assert [*accumulate(len(line) + 1 for line in given_lines)] == [
        end + 1 for end in memoryview(ends).cast("I")
    ]
    for wrong in (len(given_lines) + 1, len(given_lines) - 1, 0, -1):
        with pytest.raises(ValueError, match=r"one line or more|another number of lines"):
            WEB.native.lines(block, wrong)
    assert len(keys) == 16 * len(given_lines)
    for n, line in enumerate(given_lines):
        found = WEB.native.canonical(line)
        assert (rules[n] == -2) == (found is None)
        [merging] = memoryview(WEB.native.merging([line], [None])).cast("i")
        assert rules[n] in {-1, -2, merging}
        assert keys[16 * n : 16 * n + 16] == (bytes(16) if found is None else found.key)
        is_canonical = found is not None and found.identity.encode() == line
        hashed = hashlib.blake2b(line, digest_size=8).digest()
        assert texts[8 * n : 8 * n + 8] == (bytes(8) if is_canonical else hashed)


def test_white_space_before_a_fragment_leaves_the_rules_open() -> None:
    """Without the fragment, it would be at the end, where it is no part of the URL."""
    assert WEB.native is not None
    lines = [
        b"http://a.example/?utm_x=%41 #",
        b"http://a.example/?utm_x=%41#",
        b"http://a.example/ a#b",
    ]
    rules = memoryview(WEB.native.lines(b"\n".join(lines), len(lines))[2]).cast("i").tolist()
    assert rules[0] == -1
    assert min(rules[1:]) > 0


def test_lines_of_any_length_are_keyed() -> None:
    assert WEB.native is not None
    lines = [b"http://a.example/" + b"x%20" * size for size in (0, 30, 31, 32, 33, 5000, 2, 90_000)]
    keys, _, rules, _ = WEB.native.lines(b"\n".join(lines), len(lines))
    assert -2 not in memoryview(rules).cast("i").tolist()
    assert keys == b"".join(WEB(line).key for line in lines)
    with pytest.raises(TypeError, match="must be bytes"):
        WEB.native.lines("http://a.example/", 1)  # type: ignore[arg-type]


@given(url=tidy | guessed | anything | raw)
def test_without_the_kernel_the_answers_are_the_same(url: str | bytes) -> None:
    assert list(PURE.many([url])) == list(WEB.many([url])) == list(WEB.many(iter([url])))
    assert list(PURE.many([url])) == [outcome_of_plain(url)]


@given(reference=texts | tidy, base=urls)
def test_against_a_base_the_answers_are_the_same_too(reference: str, base: str) -> None:
    try:
        PURE.check_base(base)
    except canonry.InvalidURL:
        with pytest.raises(canonry.InvalidURL, match="the base is not an absolute URL"):
            WEB.many([reference], base)
        return
    assert list(PURE.many([reference], base)) == list(WEB.many([reference], base))
    assert list(PURE.many([reference], base)) == [outcome_of_plain(reference, base)]


_TAILS = st.text("/?#:.\\\\ab \t\0é%2e", max_size=12)


@given(
    reference=_TAILS | tidy | st.builds("{}{}".format, st.sampled_from(["/", "../", "x/"]), _TAILS),
    base=tidy
    | st.builds("http://{}{}".format, st.sampled_from(["a.b", "A:80", "u@a", ""]), _TAILS),
)
def test_the_kernel_resolves_as_the_plain_pipeline(reference: str, base: str) -> None:
    assert WEB.native is not None
    for one, other in ((reference, base), (reference.encode(), base.encode())):
        found = WEB.native.canonical(one, other)
        assert found is None or found == WEB.plain(one, other)


@pytest.mark.parametrize(
    ("reference", "base", "identity"),
    [
        ("/x?utm_source=1#y", "HTTP://A.example:80/b/c?d/e#f", "http://a.example/x"),
        ("../x/./y", "http://a.example/b/c/d?e/f", "http://a.example/b/x/y"),
        ("x%7ey", "http://a.example/b", "http://a.example/x~y"),
        ("https://b.example/x", "http://a.example/b", "https://b.example/x"),
        (f"/{'x' * 9000}", f"http://a.example/{'b' * 9000}", f"http://a.example/{'x' * 9000}"),
    ],
)
def test_it_is_the_kernel_that_resolves(reference: str, base: str, identity: str) -> None:
    assert WEB.native is not None
    assert WEB.native.canonical(reference, base) == WEB.plain(reference, base)
    assert WEB(reference, base).identity == identity


@each(
    ("reference", "base"),
    [
        ("?x", "http://a.example/b"), ("#x", "http://a.example/b"), ("", "http://a.example/b"),
        ("//b.example/x", "http://a.example/"), ("mailto:x", "http://a.example/"),
        ("http:x", "http://a.example/b"), ("/\\x", "http://a.example/"), (" x", "http://a.example/"),
        ("x", "http://a.example\\b"), ("x", "http://a.example/b\\c"), ("x", "http://a.example"),
        ("x", "http://a.example/b/.."), ("x", "http://a.example/b/%2e?c"),
        ("x", "http://a.example/b/..\t"),
        ("/x", "http://a\0b.example/"), ("http://b.example/", "http://["), ("x", "ftp://a.example/"),
        ("x", None), (None, "http://a.example/"), ("x", "http://a.example/\ud800"),
    ],
)  # fmt: skip
def test_it_leaves_other_references_to_the_pipeline(reference: object, base: object) -> None:
    assert WEB.native is not None
    assert WEB.native.canonical(reference, base) is None


def outcome_of_plain(reference: str | bytes, base: str | None = None) -> object:
    """Return the result of the plain pipeline, a refusal as in `many`."""
    try:
        return WEB.plain(reference, base)
    except canonry.InvalidURL as error:
        return canonry.Refused(error.text, error.reason, error.position)


def test_without_the_kernel_there_is_none() -> None:
    assert PURE.native is None
    assert PURE("http://a.example/").identity == "http://a.example/"


@pytest.mark.parametrize("policy", ["rfc3986", "rfc2396bis-01"])
def test_policies_with_other_rules_have_no_kernel(policy: str) -> None:
    assert canonry.Canonicalizer(policy).native is None


def test_a_kernel_of_another_version_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "VERSION", 1)
    assert canonry.Canonicalizer("web").native is None


@each(
    ("url", "identity"),
    [
        ("HTTP://WWW.Example.COM:80", "http://www.example.com/"),
        ("https://a.example:0443/%7e%2f%zz", "https://a.example/~%2F%25zz"),
        ("http://a.example/a/./b/%2e%2E/c/..", "http://a.example/a/"),
        ("http://a.example/x?utm_source=1&a=1&GCLID=2&b", "http://a.example/x?a=1&b"),
        ("http://a.example/?utm_source=1#x", "http://a.example/"),
        ("http://a_b.example/it's?q='|", "http://a_b.example/it's?q=%27%7C"),
        ("http://1.2.3.4:65535/", "http://1.2.3.4:65535/"),
        ("http://a.example/é☕?ü", "http://a.example/%C3%A9%E2%98%95?%C3%BC"),
        (b"http://a.example/\xe9/\xc3\xa9", "http://a.example/%E9/%C3%A9"),
        (b"HTTP://a.example/#\xff", "http://a.example/"),
    ],
)
def test_it_is_the_kernel_that_answers(url: str | bytes, identity: str) -> None:
    assert WEB.native is not None
    assert WEB.native.identity(url) == identity


@each(
    "url",
    [
        "", "http:/a.example/", "ftp://a.example/", "http://u@a.example/", "http://[::1]/",
        "http://xn--bcher-kva.example/", "http://a..b/", "http://a.example./", "http://1.2.3/",
        "http://01.2.3.4/", "http://256.2.3.4/", "http://0x7f.1/", "http://a.example:65536/",
        "http://a.example:x/", "http://a.example\\b", "http://a.example/\tb",
        "http://bücher.example/", f"http://{'a.' * 127}b/", "httpx://a.example/", "http://?x",
        "http", "http://a.example/\ud800", b"http://\xe9.example/", None, 1,
    ],
)  # fmt: skip
def test_it_returns_none_for_urls_that_it_cannot_handle(url: object) -> None:
    assert WEB.native is not None
    assert WEB.native.identity(url) is None
    assert WEB.native.canonical(url) is None


@given(st.integers(1, 700), st.sampled_from(["web/1", "k", "x" * 64]))
def test_keys_are_those_of_hashlib(length: int, label: str) -> None:
    url = f"http://a.example/{'b' * length}"
    policy = preset("web")
    kernel = native.kernel(policy, Canonical)
    assert kernel is not None
    made = native.Kernel(Canonical, label.encode(), native._tables(), (), ((),) * 4)  # noqa: SLF001 - what the kernel is made of
    expected = hashlib.blake2b(url.encode(), digest_size=16, key=label.encode()).digest()
    assert made.canonical(url) == (url, url, expected)


def test_keys_of_many_lengths_at_once_are_those_of_hashlib() -> None:
    """Texts are hashed side by side, and each ends after another number of blocks."""
    assert WEB.native is not None
    keyed = partial(hashlib.blake2b, digest_size=16, key=b"web/1")
    sizes = [*range(1001), 1024, 2000, 1, 1025, 9000, 300, 300, 300, 300, 40_000]
    lines = [b"http://a.example/" + b"b" * size for size in sizes]
    expected = [keyed(line).digest() for line in lines]
    for count in (len(lines), *range(1, 18)):
        keys, texts, *_ = WEB.native.lines(b"\n".join(lines[-count:]), count)
        assert keys == b"".join(expected[-count:])
        assert texts == bytes(8 * count)
    shouted = [line.replace(b"http", b"HTTP") for line in lines]
    keys, texts, *_ = WEB.native.lines(b"\n".join(shouted), len(shouted))
    assert keys == b"".join(expected)
    hashed = partial(hashlib.blake2b, digest_size=8)
    assert texts == b"".join(hashed(line).digest() for line in shouted)
    assert [one.key for one in WEB.native.canonicals(lines)] == expected


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_all_ways_to_hash_side_by_side_agree(tmp_path: Path) -> None:
    """The kernel takes what the processor has, so that the others would not be seen."""
    built, source = tmp_path / "agree", Path(__file__).with_name("lanes_agree.c")
    folder = Path(__file__).parents[3] / "canon" / "pipeline"
    subprocess.run(["gcc", "-O2", f"-I{folder}", str(source), "-o", str(built)], check=True)  # noqa: S607 - the compiler of this machine
    ran = subprocess.run([str(built)], check=True, capture_output=True, text=True)
    assert ran.stdout == "0\n"


def test_segments_are_read_alike_wherever_they_begin() -> None:
    """Paths are copied 32 bytes at a time; what needs a look may be anywhere in these."""
    odd = ["/.", "/..", "/./", "/../", "/.a/", "/%2e/", "/%2E%2e/", "//", "/..//.", "/a/../", "/é/"]
    odd += [
        "/k%2e",
        "k%2E/",
        "/%7e",
        "/~|",
        "/%",
        ".",
        "?/../",
        "?a=/.&utm_source=x",
        "/...",
        "/..;/",
        "\\",
        "/ /",
    ]
    rest = ["", "b", "b/c.html", "d/" * 9, "e" * 31, "f" * 32 + "/../", "g" * 33, "h" * 40 + "/i"]
    assert WEB.native is not None
    for size in range(70):
        for middle in odd:
            for end in rest:
                url = f"http://a/{'x' * (size % 7)}/{'y' * size}{middle}{end}"
                assert WEB.native.canonical(url) in {None, PURE(url)}, url


_HOSTS = """
a.b a..b .a a. a-b.c xn--a a.xn--b.c a.b--c axn--b -.a 1 a.1 1.2.3.4 1.2.3 a.7up A.b a_b.c a:8080
a:80 a:443 u@a a%41
"""
_ENDS = """
? ?a ?& ?a& ?a&&b= ?= ?a=b?c/d:e@f ?' ?a#b # ?[ ?| ?+* ?utm_source=x ?UTM_a ?a=1&utm_source=x
?utm_source=x&b ?a=utm_source ?a&gclid ?gclid=&a ?gclidx ?GCLID ?%2F&fbclid=1 ?%C3%A9 ?%c3 ?%7E
?%2 ?% ?%41 ?%3A&%gg %2F %2f %7e % %A %2E/ %GG a|b [ a//b /./ /.x ;=, /? %2F?%2F&c
"""


def test_what_is_canonical_is_seen_wherever_it_stands() -> None:
    """URLs are looked at 64 bytes at a time, and those below 32 in another place."""
    hosts, queries = ["", "é.b", "a b", *_HOSTS.split()], ["", "?é", "?a b", *_ENDS.split()]
    for size in range(70):
        for scheme in ("http", "https"):
            urls = [f"{scheme}://{'h' * size}{host}{size % 2 * '/p'}/" for host in hosts]
            urls += [f"{scheme}://a.b/{'x' * size}{query}" for query in queries]
            urls += [f"{scheme}://a.b/?c={'x' * size}{query}&d" for query in queries]
            for url, found in zip(urls, WEB.many(urls), strict=True):
                assert found == next(PURE.many([url])), url


def test_every_field_begins_with_nothing() -> None:
    made = native.Kernel(Canonical, b"k", native._tables(), ("tracking",), ((), (b"",), (), ()))  # noqa: SLF001 - what the kernel is made of
    assert made.identity("http://a.example/b?c=1&d") == "http://a.example/b"


@pytest.mark.parametrize("end", [" ", "\t", "\r", "\r\n", "\0 \x1f"])
def test_white_space_at_the_end_is_left_out(end: str) -> None:
    assert WEB.native is not None
    url = f"http://a.example/b?c{end}"
    assert WEB.native.canonical(url) == PURE(url) == WEB("http://a.example/b?c")
    assert WEB.native.identity(f"http://{end}") is None


@pytest.mark.parametrize(
    ("policy", "url", "identity"),
    [
        ("search", "http://a.example//x///y/?b=2&a=1&a=0&PHPSESSID=0123456789abcdef#x",
         "http://a.example/x/y/?a=1&a=0&b=2"),
        ("search", "http://a.example/x/http://b//index.html", "http://a.example/x/http://b/"),
        ("search", "http://a.example/index.html?phpsessid=0123456789abcdef", "http://a.example/"),
        ("search", "http://a.example/?b=2&a", "http://a.example/?b=2&a"),
        ("archive", "https://WWW2.a.example/A//b%252Fc/?B=2&a", "http://a.example/a/b/c?a&b=2"),
        ("archive", "https://www.com/?x=%2527&sid=1", "http://www.com/?sid=1&x='"),
        ("archive", "https://a.example:8443/x%3Fy", "https://a.example:8443/x%3Fy"),
    ],
)  # fmt: skip
def test_it_is_the_kernel_that_applies_the_heuristics(policy: str, url: str, identity: str) -> None:
    kernel = canonry.Canonicalizer(policy).native
    assert kernel is not None
    assert kernel.identity(url) == identity


@pytest.mark.parametrize("size", [1_300, 1_400, 4_096, 1_000_000])
def test_long_urls_give_the_same_answers(size: int) -> None:
    for tail in ("a" * size, "%41" * size, "|" * size, "/.." * size, "a/../" * size, "#" * size):
        url = f"http://a.example/{tail}"
        assert WEB(url) == PURE(url)
    url = f"http://a.example/?{'utm_a=1&b&' * size}"
    assert WEB(url) == PURE(url)


def test_it_leaks_no_memory() -> None:
    texts = ["http://a.example/%7e?utm_a=1&b=2", "http://[", "http://a.example/" + "|" * 5000]
    assert WEB.native is not None
    WEB.native.canonicals(texts)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(3_000):
        WEB.native.canonicals(texts)
        WEB.native.identities(texts)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 20_000


def test_wrong_arguments_of_a_kernel_are_refused() -> None:
    tables = native._tables()  # noqa: SLF001 - what the kernel is made of
    lists = ((),) * 4
    for words in (
        (tuple, b"", tables, (), lists),
        (tuple, b"x" * 65, tables, (), lists),
        (tuple, b"x", tables[1:], (), lists),
        (list, b"x", tables, (), lists),
        (tuple, b"x", tables, (), lists[1:]),
    ):
        with pytest.raises(ValueError, match="seven tables"):
            native.Kernel(*words)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no rule 'plain-fragment'"):
        native.Kernel(Canonical, b"x", tables, ("plain-fragment",), lists)
    for wrong in (("text",), "text", (1,)):
        with pytest.raises(TypeError):
            native.Kernel(Canonical, b"x", tables, (), (wrong, *lists[1:]))  # type: ignore[arg-type]
    assert WEB.native is not None
    with pytest.raises(TypeError):
        WEB.native.identities(("http://a/",))  # type: ignore[arg-type]


_MERGING = """
texts = [b"\\xff"] * 500
class Clears:
    def __del__(self):
        texts.clear()
gc.disable()
gc.set_threshold(1)
garbage = Clears()
garbage.itself = garbage
del garbage
gc.enable()  # finalizers run at the next allocation: in Python 3.11, in the middle of the call
assert len(kernel.merging(texts, texts)) in (0, 2000)
"""
_CANONICALS = """
def otherwise(text):
    for found in gc.get_objects():
        if type(found) is list and len(found) == 777:
            found.clear()
texts = ("x:y",) * 777
assert kernel.canonicals([*texts], otherwise) == [None] * 777
"""
_COLUMN = """
offsets = bytearray(b"".join(n.to_bytes(4, "little") for n in (0, 3, 6)))
def otherwise(row):
    offsets[4:] = b"".join(n.to_bytes(4, "little") for n in (1 << 30, (1 << 30) + 3))
try:
    kernel.column(b"x:yx:y", offsets, False, None, 0, True, bytearray, otherwise)
except ValueError as error:
    assert "offsets have to increase" in str(error)
else:
    assert False
"""


@pytest.mark.parametrize("scene", [_MERGING, _CANONICALS, _COLUMN])
def test_python_code_that_runs_meanwhile_may_change_what_the_kernel_reads(scene: str) -> None:
    begin = "import gc, canonry\nkernel = canonry.Canonicalizer('web').native\n"
    subprocess.run([sys.executable, "-c", begin + scene], check=True)

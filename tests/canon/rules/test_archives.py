"""The policy for archives' indexes: its forms and SURTs are stable, and its time is linear."""

import time

from hypothesis import example, given
from hypothesis import strategies as st
from support.strategies import anything, urls
from support.tables import each

import canonry
from canonry.canon.policies import from_toml
from canonry.canon.rules import archives

ARCHIVE = canonry.Canonicalizer("archive")
_HEX = "0123456789abcdef0123456789abcdef"
_SEGMENT = "/(S(4hqa0555fwsecu455xqckv45))"
# What decodes, sorts or joins to something that a rule would read anew.
_TOKENS = [
    *"%/?#&=;aA41 +'\"[]|@",
    "%25", "%2F", "%2f", "%3F", "%26", "%23", "%3D", "%2E", "25", "..", "/../", "//", "http://",
    "cfid=1", "&cftoken=2", "cftoken=1", "&cfid=2", "sid=", "jsessionid=", "phpsessid=", "&s",
    "id=", _HEX, f"sid={_HEX}&", f"id={_HEX}", _SEGMENT, "/x.aspx", "é", "%E9", "%00",
    "ASPSESSIONIDABCDEFGH=ABCDEFGHABCDEFGHABCDEFGH", "?%CFID=1&CFTOKEN=2",
]  # fmt: skip
_looked_up = st.builds(
    lambda host, rest: f"http://{host}/{''.join(rest)}",
    st.sampled_from(["a.example", "www.a.example", "www2.www.com", "www.com", "1.2.3.4", "[::1]"]),
    st.lists(st.sampled_from(_TOKENS), max_size=9),
)


@given(url=_looked_up | urls | anything)
@example(url="http://a.example/?%CFID=1&CFTOKEN=2")  # no "cfid=": "%CF" is an escape
@example(url="http://a.example/?%0ASPSESSIONIDABCDEFGH=ABCDEFGHABCDEFGHABCDEFGH&x")
def test_forms_and_surts_are_stable(url: str) -> None:
    try:
        found = ARCHIVE(url)
    except canonry.InvalidURL:
        return
    assert ARCHIVE.identity(found.identity) == found.identity
    assert ARCHIVE.plain(url) == found
    assert ARCHIVE.surt(found.identity) == ARCHIVE.surt(url)
    assert ARCHIVE.surt(found.identity).isascii()


@each(
    "rest",
    [
        "%25" * 20_000 + "41",
        "%" + "25" * 30_000 + "41",
        "cfid=" * 20_000 + "1&cftoken=1",
        "s" * 20_000 + f"sid={_HEX}&" + f"id={_HEX}&" * 2_000,
        f"{_SEGMENT}" * 2_000 + "/x.aspx",
        "/(" * 30_000 + ".aspx",
    ],
)
@each("before", ["", "?"])
def test_hostile_urls_take_no_time(before: str, rest: str) -> None:
    start = time.process_time()
    ARCHIVE.surt(f"http://a.example/{before}{rest}")
    assert time.process_time() - start < 1


def test_what_is_not_of_the_web_is_left_alone() -> None:
    for url in ("foo://a/%2F//b?b&a", "ftp://a/%2F//b", "urn:x:%2F"):
        assert canonry.canonicalize(url, policy="archive") == url


def test_indexes_escape_little() -> None:
    every = "".join(f"%{byte:02X}" for byte in range(256))
    kept = "".join(chr(byte) for byte in range(0x21, 0x7F) if chr(byte) not in "#%")
    written = archives.in_index(every)
    assert "".join(part[2:] for part in written.split("%")[1:]) == kept
    assert written.count("%") == 256 - len(kept)


def test_a_policy_of_ones_own_gets_the_spelling_of_its_rules() -> None:
    url = "http://a.example/%C3%A9%2F"
    for rule, surt in (
        ("decode-escapes", "example,a)/%c3%a9/"),
        ("letter-case", "example,a)/%c3%a9%2f"),
        ("www", "example,a)/%C3%A9%2F"),
    ):
        mine = from_toml(f'name = "mine"\nversion = 1\npractice = ["{rule}"]\n', "mine.toml")
        assert canonry.Canonicalizer(mine).surt(url) == surt

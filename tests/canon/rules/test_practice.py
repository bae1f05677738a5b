"""Rules of practice, each alone: in a preset, another rule often acts before it."""

from collections.abc import Callable

from support.tables import each

from canonry.canon.rules import practice
from canonry.canon.rules.rule import Parameters
from canonry.canon.syntax.parts import Parts

_LISTS = Parameters(
    tracking=frozenset({"x"}),
    tracking_prefixes=("utm_",),
    session=frozenset({"sid"}),
    index_files=frozenset({"index.html"}),
)
_SESSION = practice.drop_session(_LISTS)
_INDEX_FILE = practice.drop_index_file(_LISTS)
_TRACKING = practice.drop_tracking(_LISTS)
_ID = "0123456789abcdef"


@each(
    ("rule", "before", "after"),
    [
        (practice.drop_trailing_slash, "http://h/aX//", "http://h/aX"),
        (practice.drop_trailing_slash, "http://h/Xa/b/", "http://h/Xa/b"),
        (practice.drop_trailing_slash, "http://h/X/", "http://h/X"),
        *((practice.drop_trailing_slash, url, url) for url in ("http://h//", "foo://h/a/")),
        (_SESSION, f"http://h/a?SID={_ID}&b", "http://h/a?b"),
        (_SESSION, f"http://h/a?sid={_ID}", "http://h/a"),
        (_SESSION, f"http://h/a;JSESSIONID={_ID}.n-1_x!2/b?c", "http://h/a/b?c"),
        (_SESSION, f"http://h/a;jsessionid={_ID}?sid={_ID}", "http://h/a"),
        (_SESSION, f"http://h/a?sid={_ID * 8}", "http://h/a"),
        *(
            (_SESSION, url, url)
            for url in (
                f"http://h/a?sid={_ID * 8}0",  # too long
                f"http://h/a?sid={_ID[:-1]}",  # too short
                "http://h/a?sid=abcdefghijklmnopq",  # a word
                f"http://h/a?sid={_ID}-",
                f"http://h/a?other={_ID}",
                f"http://h/;jsessionid={_ID}",  # of nothing
                f"http://h/a;jsessionid={_ID[:-1]}",
                f"http://h/a;jsessionid={_ID}=",
                f"http://h/a;b={_ID}",
                f"foo://h/a;jsessionid={_ID}?sid={_ID}",
            )
        ),
        (_INDEX_FILE, "http://h/a/index.html", "http://h/a/"),
        (_INDEX_FILE, "http://h/index.html#b", "http://h/#b"),
        *(
            (_INDEX_FILE, url, url)
            for url in (
                *("http://h/index.html?", "http://h/index.html?a", "foo://h/index.html"),
                *("http://h/index.htm", "http://h/index.html/", "http://h/Index.html"),
            )
        ),
        (_TRACKING, "http://h/?X=1&a&Utm_b=2", "http://h/?a"),
        (_TRACKING, "http://h/?x", "http://h/"),
        *((_TRACKING, url, url) for url in ("http://h/?xx&a=x&utm", "foo://h/?x", "http://h/?")),
        (practice.sort_query, "http://h/?b=1&a=2&b=0", "http://h/?a=2&b=1&b=0"),
        *((practice.sort_query, url, url) for url in ("http://h/?b&a", "foo://h/?b=1&a=2")),
        (practice.fold_slashes, "http://h//a///b?//", "http://h/a/b?//"),
        *((practice.fold_slashes, url, url) for url in ("http://h/http://b", "foo://h//a")),
        (practice.drop_userinfo, "http://@h/", "http://h/"),
        (practice.drop_userinfo, "file://u@h/", "file://u@h/"),
        (practice.fold_scheme, "https://h/", "http://h/"),
        *((practice.fold_scheme, url, url) for url in ("https://h:1/", "https://h:/", "wss://h/")),
        (practice.drop_host_dot, "http://h./", "http://h/"),
        *((practice.drop_host_dot, f"http://{h}/", f"http://{h}/") for h in ("", ".", "h..", "h")),
        (practice.drop_host_dot, "file://h./", "file://h./"),
        (practice.drop_www, "http://www2.a.example/", "http://a.example/"),
        *((practice.drop_www, f"http://{h}/", f"http://{h}/") for h in ("www.a", "www.www2.a.b")),
        (practice.lower_letters, "http://H/A%2FB?C%3D#D", "http://H/a%2Fb?c%3D#D"),
        (practice.drop_plain_fragment, "http://h/#a", "http://h/"),
        (practice.drop_plain_fragment, "http://h/#!a", "http://h/#!a"),
        (practice.drop_empty_query, "http://h/?#a", "http://h/#a"),
        *((practice.drop_empty_query, url, url) for url in ("http://h/?a", "foo://h/?")),
    ],
)
def test_one_rule(rule: Callable[[Parts], Parts], before: str, after: str) -> None:
    parts = Parts.of(before)
    found = rule(parts)
    assert str(found) == after
    assert (found is parts) == (before == after)

"""Laws of URLs that are split into parts: the short way gives what splitting step by step gives."""

from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.strategies import tries

from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.uri import split, split_authority

TOKENS = ["http://", "https://", "h.example", ":", ":80", ":8o", "/", "//", "?", "#", "@", "[::1]",
          "a", ";b=1", "\n", "é", "%"]  # fmt: skip


@given(st.lists(st.sampled_from(TOKENS), max_size=8).map("".join))
@example("http://h.example:8000/a?b")
@example("http://h.example:/a")
@example("http://h.example:80")
@example("http://u@h.example:80/")
@settings(max_examples=tries(1))
def test_parts_are_those_of_the_components(text: str) -> None:
    scheme, authority, path, query, fragment = split(text)
    parts = Parts.of(text)
    assert str(parts) == text
    assert (parts.scheme, parts.path, parts.query, parts.fragment) == (
        scheme,
        path,
        query,
        fragment,
    )
    at_once = (parts.userinfo, parts.host, parts.port)
    assert at_once == ((None,) * 3 if authority is None else split_authority(authority))

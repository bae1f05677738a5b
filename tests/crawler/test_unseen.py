"""Texts of others: what cannot be seen in them is shown, and lines end where words do."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.crawler import markup
from canonry.crawler.markup import MOST, escaped, named, visible


def test_what_turns_text_around_is_shown_by_number() -> None:
    assert visible("invoice\u202efdp.exe") == "invoice⟨U+202E⟩fdp.exe"
    assert (
        visible("a\x00\u2066b\u200bc\ufeff\ud800") == "a⟨U+0000⟩⟨U+2066⟩b⟨U+200B⟩c⟨U+FEFF⟩⟨U+D800⟩"
    )


@pytest.mark.parametrize(
    "text",
    ["می\u200cخواهم", "👩\u200d💻", "tab\tand\nline", "日本　語"],  # noqa: RUF001 - a joiner
)
def test_ordinary_text_of_any_script_stays(text: str) -> None:
    assert visible(text) == text


@given(st.text(st.characters(codec="utf-8")))
def test_json_means_what_it_meant_and_is_only_text(text: str) -> None:
    made = escaped(msgspec.json.encode({"a": text, text: 1}))
    assert msgspec.json.decode(made) == {"a": text, text: 1}
    assert named(made.decode()) == made.decode()


def test_a_title_of_two_megabytes_is_cut_and_says_so() -> None:
    shown = visible("x" * 2_000_000)
    assert len(shown) < MOST + 50
    assert shown.endswith("… (2,000,000 characters)")


def test_lines_end_behind_the_separators_of_a_url() -> None:
    assert markup.url("http://a.example/b_c?d=1&e") == (
        '<bdi class="url">http:<wbr>/<wbr>/<wbr>a.<wbr>example/<wbr>b_<wbr>c?<wbr>d=<wbr>1'
        "&amp;<wbr>e</bdi>"
    )


def test_two_spellings_have_their_differences_marked() -> None:
    made = markup.pair("http://A.example:80/<b>?x=1", "http://a.example/<b>#top")
    plain = made.replace("<wbr>", "")
    assert plain == (
        '<bdi class="url">http://<mark>A</mark>.example<mark>:80</mark>/&lt;b&gt;'
        '<mark>?x=1</mark></bdi><br><span class="faint">is the same as</span> '
        '<bdi class="url">http://<mark>a</mark>.example/&lt;b&gt;<mark>#top</mark></bdi>'
    )

"""Texts of sites on a page: visible, cut, without passwords, and no links that run anything."""

import jinja2
import pytest
from markupsafe import Markup
from support.live_pages import shown

from canonry.crawler.markup import MOST, visible
from canonry.crawler.web.shown_text import command, finalized, href, link, own


def test_passwords_are_hidden_wherever_they_are() -> None:
    assert visible("http://me:secret@a.example/") == "http://me:***@a.example/"
    assert visible("see http://me:secret@a.example/ there") == "see http://me:***@a.example/ there"
    assert "secret" not in link("http://me:secret@a.example/")
    long = "http://me:" + "s" * 3_000 + "@a.example/"
    assert "ssss" not in link(long)
    assert "ssss" not in visible(f"at {'x' * (MOST - 50)} http://me:{'s' * 900}@a.example/")


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "java\tscript:alert(1)",
        "http://me:secret@a.example/",
        "http://a.example/\u202e",
        "http://a.example/" + "x" * 10_000,
        " http://a.example/",
    ],
)
def test_what_should_not_be_followed_is_no_link(url: str) -> None:
    assert "href" not in link(url)


def test_a_link_opens_elsewhere_and_tells_nobody() -> None:
    made = link('https://a.example/?q=<b>&"')
    assert 'href="https://a.example/?q=&lt;b&gt;&amp;&#34;"' in made
    assert 'rel="noopener noreferrer nofollow"' in made


def test_a_link_of_ours_escapes_its_fields() -> None:
    assert href("ask", url="http://a/?b=c&d", page="") == "/ask?url=http%3A%2F%2Fa%2F%3Fb%3Dc%26d"
    assert href("ask") == "/ask"


def test_no_template_has_to_remember_any_of_it() -> None:
    made = jinja2.Environment(autoescape=True, finalize=finalized)
    template = made.from_string('<p title="{{ t }}">{{ t }}{{ none }}{{ 5 }}{{ ours }}</p>')
    hostile = '"><script>x</script>\u202ehttp://u:secret@h/'
    text = template.render(t=hostile, none=None, ours=Markup("<b>"))
    assert "<script>" not in text
    assert "\u202e" not in text
    assert "secret" not in text
    assert text.endswith("5<b></p>")
    assert own("<i>") == "<bdi>&lt;i&gt;</bdi>"


def test_a_command_is_quoted_and_what_a_site_named_is_no_option() -> None:
    store = "postgresql://me:secret@db/crawl"
    line = shown(command(store, "hosts", "block", "--help;$(x)\u202e"))
    assert line == (
        "canonry hosts block --store 'postgresql://me:***@db/crawl' -- '--help;$(x)⟨U+202E⟩'"
    )


def test_times_are_easy_to_read() -> None:
    assert finalized("2026-11-22T11:40:41.187Z") == "2026-11-22 11:40:41Z"
    assert finalized("2026-11-22T11:40:41Z") == "2026-11-22 11:40:41Z"
    assert finalized("at 2026-11-22T11:40:41Z") == "at 2026-11-22T11:40:41Z"


def test_lines_of_a_url_end_between_its_words() -> None:
    made = link("https://a.example/b_c?d=<e>")
    assert ">https:<wbr>/<wbr>/<wbr>a.<wbr>example/<wbr>b_<wbr>c?<wbr>d=<wbr>&lt;e&gt;<" in made
    assert own("a/<b>") == "<bdi>a/<wbr>&lt;b&gt;</bdi>"

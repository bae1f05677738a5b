"""What the pages of a simulated web are made of: prose, code, numbers, other scripts, other tags.

Each kind changes the finished HTML of a page: its words, one for one, or its tags. So what is the
same stays the same, and what differs still does.
"""

import re
from collections.abc import Callable
from functools import cache

from support.simweb.webtexts import number_of

_BETWEEN_TAGS = re.compile(r">([^<>]+)<")
_WORD = re.compile(r"[A-Za-z]+")
_PARAGRAPHS = re.compile(r"(?:<p>[^<]*</p>\s*)+")
_TEASER = re.compile(r'<aside class="teaser"><p>[^<]*</p></aside>\n')
_HAN, _ARABIC = 0x4E00, 0x0627

Matter = Callable[[str], str]  # from a page's HTML to what it is with this matter


def _each_word(spell: Callable[[int, str], str]) -> Matter:
    """Return what spells each word of a page anew, from its number."""

    @cache
    def spelled(word: str) -> str:
        return spell(number_of("word", word.lower()), word)

    def change(html: str) -> str:
        return _BETWEEN_TAGS.sub(
            lambda text: f">{_WORD.sub(lambda word: spelled(word[0]), text[1])}<", html
        )

    return change


def _in_script(first: int, size: int, letters: int) -> Matter:
    """Return what spells words with the letters of another script."""

    def spell(number: int, _word: str) -> str:
        return "".join(chr(first + number // size**place % size) for place in range(letters))

    return _each_word(spell)


def _chinese(html: str) -> str:
    """Write without spaces between words."""
    return _BETWEEN_TAGS.sub(
        lambda text: f">{text[1].replace(' ', '')}<", _in_script(_HAN, 3000, 2)(html)
    )


def _with_paragraphs(change: Callable[[list[str]], str]) -> Matter:
    """Return what changes the longest run of paragraphs: the page's own text."""

    def changed(html: str) -> str:
        longest = max(_PARAGRAPHS.finditer(html), key=lambda run: len(run[0]), default=None)
        if longest is None:
            return html
        said = re.findall(r"<p>([^<]*)</p>", longest[0])
        return html[: longest.start()] + change(said) + html[longest.end() :]

    return changed


def _brief(said: list[str]) -> str:
    """Keep five words of each paragraph: what differs may be in any of them."""
    return "".join(f"<p>{' '.join(text.split()[-5:])}</p>" for text in said)


def _in_lines(said: list[str]) -> str:
    lines = "\n".join(sentence for text in said for sentence in text.split(". "))
    return f"<pre>{lines}</pre>"


def _without_classes(html: str) -> str:
    """Make every block a ``div`` like all others."""
    plain = re.sub(r"<(/?)(?:p|aside|header|footer|nav|main|ul|li)\b[^>]*>", r"<\1div>", html)
    return plain.replace("<h1>", "<div>").replace("</h1>", "</div>")


def _teaser_inside(html: str) -> str:
    """Put what changes by itself into the page's own text, as a paragraph like the others."""
    teaser = _TEASER.search(html)
    if teaser is None:
        return html
    text = re.sub(r"</?aside[^>]*>", "", teaser[0])
    rest = html.replace(teaser[0], "")
    return _with_paragraphs(
        lambda said: (
            "".join(f"<p>{one}</p>" for one in said[:1])
            + text
            + "".join(f"<p>{one}</p>" for one in said[1:])
        )
    )(rest)


MATTERS: dict[str, Matter] = {
    "prose": lambda html: html,
    "code": _each_word(lambda number, word: f"{word[:4].lower()}{number % 1000}"),
    "numbers": _each_word(lambda number, _word: str(number % 100_000)),
    "chinese": _chinese,
    "arabic": _in_script(_ARABIC, 30, 4),
    "five words": _with_paragraphs(_brief),
    "one paragraph": _with_paragraphs(lambda said: f"<p>{' '.join(said * 4)}</p>"),
    "pre": _with_paragraphs(_in_lines),
    "no classes": _without_classes,
    "teaser inside": _teaser_inside,
}
EVERY = len(MATTERS)  # in a web with this matter, each site has one of them


def matter_of(number: int, site: str) -> str:
    """Return the matter of a site.

    Args:
        number: the place of a matter in `MATTERS`, or `EVERY`.
        site: its home page.
    """
    names = list(MATTERS)
    return names[number_of("matter", site) % len(names) if number == EVERY else number]

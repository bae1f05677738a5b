"""Finding URLs in running text, with their positions (RFC 3986 appendix C)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from canonry.canon.syntax.patterns import compile_pattern
from canonry.canon.syntax.percent import to_text


class Found(NamedTuple):
    """A URL in a text.

    ``text[start:end]`` is its source, without delimiters; ``url`` is the same without white space.
    If a line ended in a hyphen, which "may or may not actually be part of the URI", ``url`` keeps
    it and ``alternative`` does not.
    """

    url: str
    start: int
    end: int
    alternative: str | None = None


# Schemes that are recognized without "//". Taking every word before a colon would find too much.
_OPAQUE = "mailto|news|urn|tel|sips?|xmpp|magnet|geo|sms|doi|cid|mid|data"
_SCHEME = rf"(?:[A-Za-z][A-Za-z0-9+.\-]{{1,30}}+://|(?i:{_OPAQUE}):)"
# What ends a URL without delimiters: white space, control characters, delimiters, and the
# full-width punctuation of scripts that use no spaces.
_END = '\\s\x00-\x1f\x7f<>"“”„«»‹›、。，；：！？（）「」『』【】《》〈〉\ufeff'  # noqa: RUF001 - intended
_RUN = rf"[^{_END}]"
# White space inside delimiters is ignored: spaces, tabs and line breaks. If a URL follows it, the
# delimiters hold two URLs; if two words follow it in quotes, the quotes hold a sentence.
_SPACE = rf"\s++(?!{_SCHEME})"
_NO_SENTENCE = r"(?![A-Za-z]{2,}+[^\S\n]++[A-Za-z]{2,}+[.,;:!?]*+[\s\"])"

# In "<URL:…>", any scheme is recognized (RFC 1738 appendix), with all characters that RFC 1738
# section 2.1 allows.
_ANY_SCHEME = r"[A-Za-z0-9+.\-]++:"

_PATTERN = compile_pattern(
    rf"""<\s*+(?i:URL):\s*+(?P<labelled>{_ANY_SCHEME}{_RUN}++(?:{_SPACE}{_RUN}++)*+)\s*+>
      | <\s*+(?:(?i:URL):\s*+)?(?P<angle>{_SCHEME}{_RUN}*+(?:{_SPACE}{_RUN}++)*+)\s*+>
      | "(?:(?i:URL):\s*+)?(?P<quoted>{_SCHEME}{_RUN}*+(?:{_SPACE}{_NO_SENTENCE}{_RUN}++)*+)\s*+"
      | (?<![A-Za-z0-9+.\-])(?:(?i:URL):)?(?P<bare>{_SCHEME}{_RUN}++)
      | (?<![A-Za-z0-9@/.\-])(?P<suffix>(?i:www)\.[A-Za-z0-9\-]+\.{_RUN}++)""",
    re.VERBOSE,
)
_HYPHEN_BREAK = re.compile(r"-[^\S\n]*+\n\s*+")
_BREAK = re.compile(r"\s+")
# Trailing punctuation belongs to the sentence, and so do brackets that the URL does not open.
_PUNCTUATION = frozenset(".,;:!?'`*_~|\\…’")  # noqa: RUF001 - intended
_OPENERS = {")": "(", "]": "[", "}": "{"}


def extract(text: str | bytes, *, suffixes: bool = False) -> Iterator[Found]:
    """Yield the URLs in a text, in order.

    Within ``<>`` (also with ``URL:``) and within double quotes, a URL may span several lines, and
    white space is ignored, unless another URL follows it or, in quotes, two words of a sentence.
    ``<URL:…>`` may hold a URL of any scheme. Elsewhere, a scheme without ``//`` is found only if it
    is a common one: in most texts, a word before a colon is no scheme.
    Without delimiters it ends at white space, and trailing punctuation belongs to the sentence;
    a closing bracket belongs to the URL only if the URL opens it.

    Args:
        text: plain text of any length; time is linear.
        suffixes: also find ``www.example.com/...``, and return it with ``http://`` (RFC 3986
            section 4.5).

    Raises:
        InvalidURL: the text holds a lone surrogate, which encodes no byte.
        TypeError: it is neither text nor bytes.

    Source: RFC 3986 appendix C; for ``<URL:…>``, RFC 1738 appendix.

    >>> [found.url for found in canonry.extract("See <URL:http://example.com/a>.")]
    ['http://example.com/a']
    """
    return _found_in(to_text(text, "the text"), suffixes=suffixes)


def _found_in(clean: str, *, suffixes: bool) -> Iterator[Found]:
    """Yield the URLs in a text."""
    for match in _PATTERN.finditer(clean):
        kind = match.lastgroup
        if kind is None or (kind == "suffix" and not suffixes):
            continue
        start, end = match.span(kind)
        raw = match[kind]
        if kind in {"bare", "suffix"}:
            raw = _trim(raw)
            end = start + len(raw)
        url = _BREAK.sub("", raw)
        alternative = _BREAK.sub("", _HYPHEN_BREAK.sub("", raw))
        if kind == "suffix":
            url = alternative = f"http://{url}"
        if url[-1:] not in {":", "/"} or len(url.rstrip("/")) > url.index(":") + 1:
            yield Found(url, start, end, None if alternative == url else alternative)


def _trim(raw: str) -> str:
    """Remove the trailing punctuation that belongs to the sentence."""
    surplus = {close: raw.count(close) - raw.count(open_) for close, open_ in _OPENERS.items()}
    end = len(raw)
    while end:
        last = raw[end - 1]
        if last in _OPENERS and surplus[last] > 0:
            surplus[last] -= 1
        elif last not in _PUNCTUATION:
            break
        end -= 1
    return raw[:end]

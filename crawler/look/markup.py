"""Texts of others as HTML, for pages that are made without templates."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape

from canonry.crawler.look.unseen import visible

# A line may end after what separates the words of a URL, before it would in the middle of one.
_SEPARATORS = frozenset("/?&=;#,+.:_-")
_PART = re.compile(r"[^/?&=;#,+.:_-]+|[/?&=;#,+.:_-]")
_SAME = '<br><span class="faint">is the same as</span> '


def text(given: str) -> str:
    """Return a text of others, kept apart from the direction of the text around it."""
    return f"<bdi>{escape(visible(given))}</bdi>"


def url(given: str) -> str:
    """Return a URL or the like as a text in which lines end between its parts; it is no link."""
    return f'<bdi class="url">{breakable(visible(given))}</bdi>'


def breakable(shown: str) -> str:
    """Return a text, escaped, in which lines may end after what separates the words of a URL."""
    return _joined(_PART.findall(shown))


def pair(one: str, other: str) -> str:
    """Return two spellings of a URL, one above the other, with what is different marked."""
    first, second = _parts(one), _parts(other)
    above = below = ""
    changes = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    for kind, start, end, from_, to in changes:
        above += _marked(first[start:end], kind)
        below += _marked(second[from_:to], kind)
    return f'<bdi class="url">{above}</bdi>{_SAME}<bdi class="url">{below}</bdi>'


def _marked(parts: Sequence[str], kind: str) -> str:
    """Return parts of a URL, marked unless they are equal to those of the other."""
    inner = _joined(parts)
    return inner if kind == "equal" or not parts else f"<mark>{inner}</mark>"


def _parts(given: str) -> list[str]:
    """Return the words of a URL, and the separators between them."""
    return _PART.findall(visible(given))


def _joined(parts: Sequence[str]) -> str:
    """Return parts as HTML in which lines may end after separators."""
    return "".join(
        f"{escape(part)}<wbr>" if part in _SEPARATORS else escape(part) for part in parts
    )

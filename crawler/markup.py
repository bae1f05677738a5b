"""Texts of others for people: as HTML, and with characters made visible that cannot be seen."""

import json
import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape
from pathlib import Path

from canonry.canon import redact, redaction

# A line may end after what separates the words of a URL, before it would in the middle of one.
_SEPARATORS = frozenset("/?&=;#,+.:_-")
_PART = re.compile(r"[^/?&=;#,+.:_-]+|[/?&=;#,+.:_-]")
_SAME = '<br><span class="faint">is the same as</span> '
STYLE = Path(__file__).parent / "web/static/style.css"
MOST = 2_000  # characters of one text; what is longer is cut
_LONGEST_PASSWORD = 2_100  # characters, with its URL, that `redact_message` looks for
# Characters that are not seen and change how others are: controls, overrides and isolates of
# bidirectional text (Unicode Standard Annex 9), invisible operators, tags, lone surrogates. The
# joiners U+200C and U+200D are part of ordinary words in some scripts.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


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


def sheet() -> str:
    """Return the style sheet, for a page that holds all it needs.

    Raises:
        OSError: the installation is not complete.
    """
    return STYLE.read_text(encoding="utf-8")


def visible(text: str, most: int = MOST) -> str:
    """Return a text that shows what it holds: unseen characters by number, passwords as ``***``.

    Args:
        text: any text.
        most: characters to keep; a longer text ends with how long it is.
    """
    size, text = len(text), redact(text)
    # A password is hidden before the cut: after it, the "@" that shows it may be gone.
    text = redaction.redact_message(text[: most + _LONGEST_PASSWORD])
    if len(text) > most:
        text = f"{text[:most]}… ({size:,} characters)"
    return named(text)


def named(text: str) -> str:
    """Return a text in which characters that are not seen are shown by number, as in ``⟨U+001B⟩``.

    So it can neither control a terminal nor turn the text around it. Tabs and line ends stay.
    """
    return _UNSEEN.sub(lambda found: f"\u27e8U+{ord(found[0]):04X}\u27e9", text)


def escaped(data: bytes) -> bytes:
    """Return JSON in which the same characters are escaped: it means what it meant."""
    if data.isascii() and b"\x7f" not in data:
        return data
    text = data.decode()
    if text.isprintable():  # far faster
        return data
    return _UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text).encode()

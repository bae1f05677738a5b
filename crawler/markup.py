"""Show foreign text to people: as HTML, and with invisible characters made visible."""

import json
import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape
from pathlib import Path

from canonry.canon import redact, redaction

# Lines may break after these separators in a URL.
_SEPARATORS = frozenset("/?&=;#,+.:_-")
_PART = re.compile(r"[^/?&=;#,+.:_-]+|[/?&=;#,+.:_-]")
_SAME = '<br><span class="faint">is the same as</span> '
STYLE = Path(__file__).parent / "web/static/style.css"
MOST = 2_000  # characters of one text; a longer one is cut
_LONGEST_PASSWORD = 2_100  # characters, with the URL, that `redact_message` finds
# Invisible characters that change how text is shown: controls, overrides and isolates of
# bidirectional text (Unicode Standard Annex 9), invisible operators, tags, lone surrogates. The
# joiners U+200C and U+200D are left out, as they occur in ordinary words of some scripts.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def text(given: str) -> str:
    """Return foreign text as HTML, isolated from the direction of the text around it."""
    return f"<bdi>{escape(visible(given))}</bdi>"


def url(given: str) -> str:
    """Return a URL as HTML in which lines may break between its parts; it is not a link."""
    return f'<bdi class="url">{breakable(visible(given))}</bdi>'


def breakable(shown: str) -> str:
    """Return a text as escaped HTML in which lines may break after the separators of a URL."""
    return _joined(_PART.findall(shown))


def pair(one: str, other: str) -> str:
    """Return two spellings of a URL, one above the other, with their differences marked."""
    first, second = _parts(one), _parts(other)
    above = below = ""
    changes = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    for kind, start, end, from_, to in changes:
        above += _marked(first[start:end], kind)
        below += _marked(second[from_:to], kind)
    return f'<bdi class="url">{above}</bdi>{_SAME}<bdi class="url">{below}</bdi>'


def _marked(parts: Sequence[str], kind: str) -> str:
    """Return parts of a URL as HTML, marked unless they equal those of the other spelling."""
    inner = _joined(parts)
    return inner if kind == "equal" or not parts else f"<mark>{inner}</mark>"


def _parts(given: str) -> list[str]:
    """Return the words of a URL, and the separators between them."""
    return _PART.findall(visible(given))


def _joined(parts: Sequence[str]) -> str:
    """Return parts as HTML in which lines may break after separators."""
    return "".join(
        f"{escape(part)}<wbr>" if part in _SEPARATORS else escape(part) for part in parts
    )


def sheet() -> str:
    """Return the style sheet, for a self-contained page.

    Raises:
        OSError: the installation is not complete.
    """
    return STYLE.read_text(encoding="utf-8")


def visible(text: str, most: int = MOST) -> str:
    """Return a text with invisible characters shown by number, and passwords as ``***``.

    Args:
        text: any text.
        most: characters to keep; a longer text is cut and ends with its length.
    """
    size, text = len(text), redact(text)
    # Passwords are hidden before the cut, which may remove the "@" that shows one.
    text = redaction.redact_message(text[: most + _LONGEST_PASSWORD])
    if len(text) > most:
        text = f"{text[:most]}… ({size:,} characters)"
    return named(text)


def named(text: str) -> str:
    """Return a text in which invisible characters are shown by number, as in ``⟨U+001B⟩``.

    So it can neither control a terminal nor reverse the text around it. Tabs and line ends stay.
    """
    return _UNSEEN.sub(lambda found: f"\u27e8U+{ord(found[0]):04X}\u27e9", text)


def escaped(data: bytes) -> bytes:
    """Return JSON with invisible characters escaped, which does not change its meaning."""
    if data.isascii() and b"\x7f" not in data:
        return data
    text = data.decode()
    if text.isprintable():  # a fast path
        return data
    return _UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text).encode()

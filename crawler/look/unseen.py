"""Texts of others, made visible: passwords hidden, and characters that cannot be seen shown."""

import json
import re

from canonry.canon import redact, redaction

MOST = 2_000  # characters of one text; what is longer is cut
_LONGEST_PASSWORD = 2_100  # characters, with its URL, that `redact_message` looks for
# Characters that are not seen and change how others are: controls, overrides and isolates of
# bidirectional text (Unicode Standard Annex 9), invisible operators, tags, lone surrogates. The
# joiners U+200C and U+200D are part of ordinary words in some scripts.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


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

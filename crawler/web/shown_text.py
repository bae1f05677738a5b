"""Texts for a page: everything that a site wrote is hostile until it went through here."""

import re
from urllib.parse import quote

from markupsafe import Markup, escape

from canonry.canon import redact, redaction

MOST = 2_000  # characters of one text; what is longer is cut
_MOST_OF_A_URL = 160
_LONGEST_PASSWORD = 2_100  # characters, with its URL, that `redact_message` looks for
_LONGEST_LINK = 8_000  # characters; servers refuse longer ones
# Characters that are not seen and change how others are: controls, overrides and isolates of
# bidirectional text (Unicode Standard Annex 9), invisible operators, tags, lone surrogates. The
# joiners U+200C and U+200D are part of ordinary words in some scripts.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_IS_WEB = re.compile(r"https?://[!-~]+", re.IGNORECASE)


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
    return _UNSEEN.sub(lambda found: f"\u27e8U+{ord(found[0]):04X}\u27e9", text)


def finalized(value: object) -> object:
    """Return what a template writes for a value: Jinja calls this for each ``{{ … }}``.

    So no template can forget it. Markup, which only our own code makes, stays as it is.
    """
    if isinstance(value, Markup):
        return value
    if value is None:
        return ""
    return visible(value) if isinstance(value, str) else value


def link(url: str, most: int = _MOST_OF_A_URL) -> Markup:
    """Return a URL as a link, if it leads to the web; as text if it does not.

    A URL with a password is no link either: the page must not hold the password.
    """
    shown = Markup("<bdi>{}</bdi>").format(visible(url, most))
    is_link = len(url) <= _LONGEST_LINK and _IS_WEB.fullmatch(url) and redact(url) == url
    if not is_link:
        return shown
    return Markup(
        '<a class="url" href="{}" rel="noopener noreferrer nofollow" target="_blank">{}</a>'
    ).format(url, shown)


def own(text: str) -> Markup:
    """Return a text of a site, kept apart from the direction of the text around it."""
    return Markup("<bdi>{}</bdi>").format(visible(text))


def href(path: str, **fields: object) -> Markup:
    """Return a link inside the page, with the fields of its query escaped."""
    query = "&".join(
        f"{name}={quote(str(value), safe='', errors='replace')}"
        for name, value in fields.items()
        if value not in {None, ""}
    )
    return Markup(escape(f"/{path}?{query}" if query else f"/{path}"))  # noqa: S704 - escaped

"""Make texts safe for a page; all text from sites is hostile until it passes through here."""

import re
import shlex
from urllib.parse import quote

from markupsafe import Markup, escape

from canonry import __title__
from canonry.canon import redact
from canonry.crawler.markup import breakable, visible

_MOST_OF_A_URL = 160
_LONGEST_LINK = 8_000  # characters; servers refuse longer ones
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")  # as JSON has it
is_web = re.compile(r"https?://[!-~]+", re.IGNORECASE).fullmatch


def finalized(value: object) -> object:
    """Return the text that a template writes for a value; Jinja calls this for each ``{{ … }}``.

    So no template can forget it. Markup, which only our own code makes, stays unchanged.
    """
    if isinstance(value, Markup):
        return value
    if value is None:
        return ""
    if isinstance(value, str):
        return f"{value[:10]} {value[11:19]}Z" if _MOMENT.fullmatch(value) else visible(value)
    return value


def link(url: str, most: int = _MOST_OF_A_URL) -> Markup:
    """Return a URL as a link, if it leads to the web; as text if it does not.

    A URL with a password is not a link either, since the page must not contain the password.
    """
    shown = _isolated(visible(url, most))
    is_link = len(url) <= _LONGEST_LINK and is_web(url) and redact(url) == url
    if not is_link:
        return shown
    return Markup(
        '<a class="url" href="{}" rel="noopener noreferrer nofollow" target="_blank">{}</a>'
    ).format(url, shown)


def own(text: str) -> Markup:
    """Return a text from a site, isolated from the direction of the text around it."""
    return _isolated(visible(text))


def command(store: str, *words: str) -> Markup:
    """Return the ``canonry`` command with these words, on a store, as a line to copy.

    Passwords in it are hidden, and characters that nobody sees are shown by number, so that what
    runs is what was read.
    """
    *known, last = words
    # What a site has named may begin as an option does.
    guarded = ("--", last) if last.startswith("-") else (last,)
    line = shlex.join((__title__, *known, "--store", redact(store), *guarded))
    return Markup('<code class="command">{}</code>').format(own(line))


def _isolated(shown: str) -> Markup:
    """Return a text with its own direction, in which lines may break after separators of URLs."""
    return Markup(f"<bdi>{breakable(shown)}</bdi>")  # noqa: S704 - escaped there


def href(path: str, **fields: object) -> Markup:
    """Return a link inside the page, with the fields of its query escaped."""
    query = "&".join(
        f"{name}={quote(str(value), safe='', errors='replace')}"
        for name, value in fields.items()
        if value not in {None, ""}
    )
    return Markup(escape(f"/{path}?{query}" if query else f"/{path}"))  # noqa: S704 - escaped

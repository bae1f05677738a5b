"""Texts for people, without the passwords of the URLs in them (RFC 3986 section 7.5).

Whatever shows a URL, or a text that may hold one, gets it from here: logs, reports, exports,
messages and errors.
"""

import re

from canonry.canon.arguments import check_text, wrong_type

_HIDDEN = "***"
# A URL up to the end of its userinfo, as browsers see it: the web's schemes need no slashes, or any
# number of them and of backslashes (URL Standard section 4.4).
_USERINFO = re.compile(
    r"[\x00-\x20]*(?:(?:https?|wss?|ftp):[/\\]*|(?:[a-z][a-z0-9+.\-]*:)?[/\\]{2})([^/?#]*)@",
    re.ASCII | re.IGNORECASE,
)
_REMOVED = str.maketrans("", "", "\t\r\n")  # by browsers, anywhere in a URL
_LEAD = re.compile(r"[\x00-\x20]*(?:[a-z][a-z0-9+.\-]*:(?=[/\\]))?[/\\]*", re.ASCII | re.IGNORECASE)
# URLs in a message. In a database's URL, a password may hold slashes or spaces; it may also be a
# parameter, as in the messages of database libraries. The bounds keep time linear.
_IN_MESSAGE = re.compile(
    r"(?:\b(?:https?|wss?|ftp):|(?<![:\w]))//[^\s/?#@:]*+:(?P<web>[^\s/?#]{0,1000})@"
    r"|\b(?!(?:https?|wss?|ftp):)[a-z][a-z0-9+.\-]{0,30}+://[^\s/?#@:]*+:"
    r"(?P<database>[^\s@]{0,1000}|[^\r\n/?#@]{0,1000})@"
    r"|\b\w*(?:passw(?:or)?d|pwd)\s*=\s*(?P<value>'[^']*'|[^\s&#;\"']+)",
    re.ASCII | re.IGNORECASE,
)


def redact(url: str) -> str:
    """Return the URL with the password of its userinfo replaced by ``***`` (RFC 3986 section 7.5).

    Use it for everything that people read: logs, reports, exports. It accepts any text.

    Raises:
        TypeError: it is not a ``str``.

    >>> canonry.redact("http://user:secret@example.com/")
    'http://user:***@example.com/'
    """
    if not isinstance(url, str):
        raise wrong_type("a URL", url, "str")
    if "@" not in url:
        return url
    found = _USERINFO.match(url) or _USERINFO.match(url.translate(_REMOVED))
    if found is None or ":" not in found[1]:
        return url
    colon = found.start(1) + found[1].index(":")
    return f"{found.string[: colon + 1]}{_HIDDEN}{found.string[found.end(1) :]}"


def redact_refused(text: str, position: int = 0) -> tuple[str, int]:
    """Return a text that is no URL without what may be meant as a password.

    That is everything between the first colon after the scheme and the last ``@``.

    Args:
        text: the text.
        position: an index into it.

    Returns:
        The text, and the index of the same place in it.

    Raises:
        TypeError: it is not a ``str``.
    """
    check_text("the text", text)
    lead = _LEAD.match(text)
    start = text.find(":", lead.end() if lead else 0) + 1
    end = text.rfind("@")
    if not 0 < start <= end:
        return text, position
    if position >= end:
        position += start + len(_HIDDEN) - end
    elif position > start:
        position = start
    return f"{text[:start]}{_HIDDEN}{text[end:]}", position


def redact_message(message: str) -> str:
    """Return a message without the passwords of all URLs in it, and of a database's settings.

    Raises:
        TypeError: it is not a ``str``.
    """
    check_text("the message", message)

    def hide(found: re.Match[str]) -> str:
        start, end = next(found.span(name) for name in found.groupdict() if found[name] is not None)
        return f"{message[found.start() : start]}{_HIDDEN}{message[end : found.end()]}"

    return _IN_MESSAGE.sub(hide, message)


def redact_all(value: object) -> object:
    """Return plain data in which `redact_message` was applied to every text."""
    match value:
        case str():
            return redact_message(value)
        case dict():
            return {key: redact_all(item) for key, item in value.items()}
        case list() | tuple():
            return [redact_all(item) for item in value]
        case _:
            return value

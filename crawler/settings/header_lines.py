"""Parse headers and cookies in settings, and hide the secrets of settings."""

import re
from collections.abc import Iterable
from typing import Any

from canonry.crawler.settings.proxies import shown_proxy

_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_LINE = re.compile(rf"({_NAME.pattern}):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
_TEXT = re.compile(r"[^\x00-\x1f\x7f]*")
# Headers that Canonry itself sets, for connections (RFC 9110 section 7.6.1) or for requests.
_OURS = {
    "user-agent": "user_agent in [crawl] sets it, as robots.txt files name it",
    "proxy-authorization": "the URL of the proxy has the password",
}
_EACH = frozenset(
    {"accept-encoding", "connection", "content-length", "expect", "host", "if-modified-since"}
    | {"if-none-match", "keep-alive", "range", "te", "trailer", "transfer-encoding", "upgrade"}
)
_SECRET = re.compile(
    r"auth|cookie|token|secret|apikey|(?:^|-)key|session|passw|credential|signature|jwt|bearer",
    re.IGNORECASE,
)


def is_secret(name: str) -> bool:
    """Return True if the value of a header may be a secret, by the header's name."""
    return _SECRET.search(name) is not None


def headers_of(lines: Iterable[str]) -> dict[str, str]:
    """Return headers by name.

    Args:
        lines: each ``Name: value``.

    Raises:
        ValueError: a line is not a header, or may not be set. The message shows no values.
    """
    headers: dict[str, str] = {}
    for line in lines:
        read = _LINE.fullmatch(line.strip())
        if read is None:
            start, colon, _value = line.partition(":")
            name = start if colon and _NAME.fullmatch(start) else "a header"
            message = f'{name}: allowed is "Name: value", on one line'
            raise ValueError(message)
        name, value = read.groups()
        if name.lower() in _EACH or name.lower() in _OURS:
            reason = _OURS.get(name.lower(), "Canonry sets it for each request")
            message = f"{name}: this header may not be given: {reason}"
            raise ValueError(message)
        if name.lower() in {other.lower() for other in headers}:
            message = f"{name}: this header is given twice"
            raise ValueError(message)
        if name.lower() == "cookie":
            cookies_of(value)  # checked here, as a cookie jar may add to it
        headers[name] = value.rstrip()
    return headers


def cookies_of(text: str) -> dict[str, str]:
    """Return the cookies in a text by name, as in a ``Cookie`` header (RFC 6265 section 4.2.1).

    Raises:
        ValueError: it has another format. The message does not show it.
    """
    cookies: dict[str, str] = {}
    for pair in filter(None, (pair.strip() for pair in text.split(";"))):
        name, equals, value = pair.partition("=")
        if not equals or not _TEXT.fullmatch(pair):
            message = 'allowed are cookies as in a Cookie header: "a=b; c=d"'
            raise ValueError(message)
        cookies[name.strip()] = value.strip()
    return cookies


def user_and_password(text: str) -> tuple[str, str]:
    """Return the user and the password of ``user:password`` (RFC 7617 section 2).

    Raises:
        ValueError: it has another format. The message does not show it.
    """
    user, colon, password = text.partition(":")
    if not colon or not _TEXT.fullmatch(text):
        message = 'allowed is "user:password"'
        raise ValueError(message)
    return user, password


def without_secrets(settings: Any) -> Any:  # noqa: ANN401 - plain data
    """Return settings as plain data, with ``***`` for passwords, cookies and values of headers."""
    if not isinstance(settings, dict):
        return settings
    shown = {key: without_secrets(value) for key, value in settings.items()}
    if "headers" in shown:
        shown["headers"] = [f"{line.partition(':')[0]}: ***" for line in shown["headers"]]
    if "timeout" not in shown and shown.get("cookies"):  # in [fetch] it is the name of a file
        shown["cookies"] = "***"
    if shown.get("proxy"):
        shown["proxy"] = shown_proxy(shown["proxy"])
    if "basic_auth" in shown:
        shown["basic_auth"] = "***"
    return shown

"""Sites: what learned rules are about. A site is a host, with its port if its URLs have one."""

import re
from functools import lru_cache

from canonry.canon.errors import InvalidURL
from canonry.canon.references.whatwg import serialize
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.schemes import WEB

_LABEL = r"[a-z0-9_](?:[a-z0-9_\-]*[a-z0-9_])?"
_TOP = r"[a-z](?:[a-z0-9\-]*[a-z0-9])?"
_HOST_NAME = re.compile(rf"(?:{_LABEL}\.)+{_TOP}")
_HOST = rf"(?:{_LABEL}\.)*{_TOP}|[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}}|\[[0-9a-f:.]+\]"
_SITE = re.compile(rf"({_HOST})(?::[1-9][0-9]{{0,4}})?")
_MAX_HOST = 253
# RFC 3986 section 3.2: all of the authority; with an "@" it also has userinfo.
_OF_URL = re.compile(r"https?://([^/?#@]+)(?=[/?#]|\Z)")
_PORT = re.compile(r":[0-9]*\Z")
_CACHED = 65_536


def site_of(parts: Parts) -> str:
    """Return the site of a URL; "" if no rule can be about it: it has userinfo, or no host."""
    if parts.scheme not in WEB or parts.userinfo is not None or parts.host is None:
        return ""
    return parts.host if parts.port is None else f"{parts.host}:{parts.port}"


def site_in(url: str) -> str:
    """Return what `site_of` returns, for the text of a canonical URL; cheaper than splitting it."""
    found = _OF_URL.match(url)
    return found[1] if found else ""


def without_port(site: str) -> str:
    """Return the host of a site."""
    return _PORT.sub("", site)


def is_host_name(text: str) -> bool:
    """Return True if a text is a host name of two labels or more, in its canonical spelling."""
    return len(text) <= _MAX_HOST and _HOST_NAME.fullmatch(text) is not None


@lru_cache(maxsize=_CACHED)
def is_site(text: str) -> bool:
    """Return True if a text is a site, spelled as canonical URLs spell it.

    A port that is one scheme's default is not allowed: it would mean different things under
    ``http`` and ``https``.
    """
    found = _SITE.fullmatch(text)
    if found is None or len(found[1]) > _MAX_HOST:
        return False
    try:
        return all(serialize(f"{scheme}://{text}/") == f"{scheme}://{text}/" for scheme in WEB)
    except InvalidURL:
        return False

"""What a learned rule says: one family with its fields filled in, for one site."""

import re
from functools import cache, lru_cache
from typing import Any

import msgspec
from msgspec.structs import astuple, fields

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
# The whole authority (RFC 3986 section 3.2); one with an "@" has userinfo and does not match.
_OF_URL = re.compile(r"https?://([^/?#@]+)(?=[/?#]|\Z)")
_PORT = re.compile(r":[0-9]*\Z")
_CACHED = 65_536


class Rewrite(msgspec.Struct, frozen=True, order=True, cache_hash=True, forbid_unknown_fields=True):
    """One family with its fields filled in: which URLs of a site equal which others.

    A rewrite is typed: it fills in the fields of one family and is never a free pattern. So no
    file of rules can merge more than its families merge.

    Attributes:
        host: the site: a host, with its port if its URLs have one, as in ``h.example:8080``.
        family: a name in the table of families.
        below: the part of the host that the rewrite covers, a path that ends with a slash.
        old: what the family replaces or removes.
        new: what the family puts there.
        beside: the names of the other parameters in the query, sorted; one with ``=`` and a value
            has to have that value.
        subdomains: True if the rewrite also covers the hosts below ``host``.
        but: hosts below ``host`` that it does not cover.
    """

    host: str
    family: str
    below: str = "/"
    old: str = ""
    new: str = ""
    beside: tuple[str, ...] = ()
    subdomains: bool = False
    but: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Return the rule's id: ten hexadecimal digits of a digest of what it says.

        Exceptions (``but``) do not change it.
        """
        import hashlib  # noqa: PLC0415 - loads OpenSSL: `import canonry` stays light

        content = msgspec.json.encode((*astuple(self)[: _FIELDS - 1], ()))
        return hashlib.blake2b(content, digest_size=5).hexdigest()

    def covers(self, site: str) -> bool:
        """Return True if the rewrite covers a site."""
        if site == self.host:
            return True
        return self.subdomains and site.endswith("." + self.host) and site not in self.but


_FIELDS = len(Rewrite.__struct_fields__)


def to_fields(value: Rewrite, always: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a rewrite, or a rule, as plain data, without the fields that have their default.

    This is how rules are written both in files and in the store; `msgspec.convert` reads it.

    Args:
        value: what to encode.
        always: fields to include even if they have their default.
    """
    defaults = _defaults(type(value))
    return {
        name: msgspec.to_builtins(given)
        for name in value.__struct_fields__
        if (given := getattr(value, name)) != defaults[name] or name in always
    }


@cache
def _defaults(kind: type[Rewrite]) -> dict[str, Any]:
    """Return the default of each field; required fields have one that no value equals."""
    return {field.name: field.default for field in fields(kind)}


def site_of(parts: Parts) -> str:
    """Return the site of a URL; "" if no rule can cover it: no web URL, no host, or userinfo."""
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

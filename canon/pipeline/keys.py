"""Keys and SURTs of identities: 16 bytes to store, and text that sorts by domain."""

import re
from collections.abc import Callable
from enum import Enum
from functools import lru_cache

from canonry.canon.rules import archives, practice
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.schemes import WEB

KEY_BYTES = 16
_ESCAPE = re.compile("%[0-9A-F]{2}")
_WWW = re.compile(rf"\A{practice.WWW}(?=.)")


@lru_cache(maxsize=64)
def hasher(label: str) -> Callable[[str], bytes]:
    """Return the function that makes keys under the policy ``name/version``.

    A key is the 16-byte BLAKE2b hash (RFC 7693) of the identity, keyed with the label. At 10^12
    URLs, 128 bits make an accidental collision negligible; a cryptographic hash prevents
    deliberate ones.
    """
    import hashlib  # noqa: PLC0415 - loads OpenSSL: `import canonry` stays light

    start = hashlib.blake2b(digest_size=KEY_BYTES, key=label.encode())

    def make(identity: str) -> bytes:
        state = start.copy()
        state.update(identity.encode())
        return state.digest()

    return make


class Spelling(Enum):
    """How a SURT writes what a canonical form leaves open."""

    PLAIN = "as the canonical form"
    LOWER = "escapes have lower-case digits"
    INDEX = "as the indexes of web archives"


def surt_of(identity: str, spelling: Spelling = Spelling.PLAIN) -> str:
    """Return the Sort-friendly URI Reordering Transform of a canonical URL.

    The labels of a domain name are reversed, so that the URLs of a domain sort together; IP
    addresses are not. ``http`` and ``https`` give the same SURT, as in the indexes of web archives.

    Args:
        identity: a canonical form.
        spelling: how to write it. `Spelling.INDEX` decodes escapes of reserved characters, sorts
            fields, reverses IPv4 addresses and leaves IPv6 addresses without brackets.

    >>> surt_of("http://www.example.com:8080/a?b")
    'com,example,www:8080)/a?b'
    """
    end = identity.find("/", len("https://"))
    is_plain = spelling is Spelling.PLAIN or not ("%" in identity or "&" in identity)
    if end > 0 and is_plain:
        before = _surt_of_authority(identity[:end], spelling)
        if before is not None:
            return before + identity[end:]
    return _surt_of_parts(Parts.of(identity), spelling)


@lru_cache(maxsize=16_384)
def _surt_of_authority(before: str, spelling: Spelling) -> str | None:
    """Return the SURT of a web URL's text before the path; None for any other text."""
    parts = Parts.of(before)
    if parts.scheme not in WEB or not parts.host or parts[4:] != ("", None, None):
        return None
    return _surt_of_parts(parts, spelling)


def _surt_of_parts(parts: Parts, spelling: Spelling) -> str:
    """Return the SURT of a split URL."""
    if not parts.host:
        return str(parts)
    port = "" if parts.port is None else f":{parts.port}"
    user = "" if parts.userinfo is None else f"@{parts.userinfo}"
    if spelling is Spelling.INDEX and parts.scheme in WEB:
        return f"{_index_host(parts.host)}{port}{user}){_index_rest(parts)}"
    rest = _joined(parts.path, parts.query, parts.fragment)
    if spelling is not Spelling.PLAIN:
        rest = _ESCAPE.sub(lambda match: match[0].lower(), rest)
    address = parts.host.startswith("[") or parts.host.replace(".", "").isdigit()
    host = parts.host if address else _reversed(parts.host)
    scheme = "" if parts.scheme in WEB else f"{parts.scheme}://"
    return f"{scheme}{host}{port}{user}){rest}"


def _reversed(host: str) -> str:
    """Return the labels of a name from the last to the first."""
    return ",".join(reversed(host.split(".")))


def _index_host(host: str) -> str:
    """Return a host as indexes have it: without ``www``, even if only a top-level domain remains.

    An IPv4 address is reversed like a name, and an IPv6 address has no brackets.
    """
    return host[1:-1] if host.startswith("[") else _reversed(_WWW.sub("", host))


def _index_rest(parts: Parts) -> str:
    """Return path, query and fragment as indexes have them."""
    query = None if parts.query is None else archives.in_index(parts.query)
    if query is not None:
        query = archives.sorted_fields(query)
    path = archives.in_index(parts.path)
    return _joined(path, query, parts.fragment)


def _joined(path: str, query: str | None, fragment: str | None) -> str:
    """Join what follows an authority, where a path may begin with two slashes."""
    after = path if query is None else f"{path}?{query}"
    return after if fragment is None else f"{after}#{fragment}"

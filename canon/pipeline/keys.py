"""Keys and SURTs of identities: 16 bytes to store, and text that sorts by domain."""

import re
from collections.abc import Callable
from functools import lru_cache

from canonry.canon.syntax.parts import Parts

KEY_BYTES = 16
_ESCAPE = re.compile("%[0-9A-F]{2}")


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


def surt_of(identity: str, *, lower_escapes: bool = False) -> str:
    """Return the Sort-friendly URI Reordering Transform of a canonical URL.

    The labels of a domain name are reversed, so that the URLs of a domain sort together; IP
    addresses are not. ``http`` and ``https`` give the same SURT, as in the indexes of web archives.

    Args:
        identity: a canonical form.
        lower_escapes: write the digits of escapes in lower case, as in these indexes.

    >>> surt_of("http://www.example.com:8080/a?b")
    'com,example,www:8080)/a?b'
    """
    parts = Parts.of(identity)
    if not parts.host:
        return identity
    port = "" if parts.port is None else f":{parts.port}"
    user = "" if parts.userinfo is None else f"@{parts.userinfo}"
    address = parts.host.startswith("[") or parts.host.replace(".", "").isdigit()
    host = parts.host if address else ",".join(reversed(parts.host.split(".")))
    rest = str(Parts(None, None, None, None, parts.path, parts.query, parts.fragment))
    if lower_escapes:
        rest = _ESCAPE.sub(lambda match: match[0].lower(), rest)
    scheme = "" if parts.scheme in {"http", "https"} else f"{parts.scheme}://"
    return f"{scheme}{host}{port}{user}){rest}"

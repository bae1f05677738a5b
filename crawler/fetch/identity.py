"""The crawler's identity: requests signed as the drafts of Web Bot Auth ask for.

A signature (RFC 9421, Ed25519) says that a request comes from whoever publishes the key at a URL.
It covers the host and that URL, is made anew for each request, and expires after a minute.
"""

import base64
import hashlib
import json
import os
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from canonry.crawler.settings import SettingsError
from canonry.extras import require

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

DIRECTORY = "/.well-known/http-message-signatures-directory"  # where the key is published
_LABEL, _TAG = "sig1", "web-bot-auth"
_LIFE = timedelta(seconds=60)
_NONCE = 48  # random bytes
_PRIVATE = 0o600  # the mode of a key's file
_ADVICE = "'canonry identity FILE' makes one"


class _Message(NamedTuple):
    """A request, as far as its signature covers it."""

    method: str
    url: str
    headers: dict[str, str]


class RequestSigner:
    """Makes the headers that sign a request."""

    def __init__(self, key_file: str, agent: str) -> None:
        """Read the key.

        Args:
            key_file: a private key for Ed25519, in PEM (PKCS #8).
            agent: the https URL below which the directory with the public key is.

        Raises:
            MissingExtraError: a package is not installed.
            SettingsError: the key or the URL cannot be used.
        """
        require("identity", "a signed identity")
        from http_message_signatures import (  # noqa: PLC0415 - optional
            HTTPMessageSigner,
            HTTPSignatureKeyResolver,
            algorithms,
        )

        check_agent(agent)
        key = read_key(key_file)
        self._agent = f'{_LABEL}="{agent}"'
        self._key_id = public_key(key)["kid"]

        class OneKey(HTTPSignatureKeyResolver):
            def resolve_private_key(self, key_id: str) -> "Ed25519PrivateKey":  # noqa: ARG002 - there is one
                return key

        self._signer = HTTPMessageSigner(
            signature_algorithm=algorithms.ED25519, key_resolver=OneKey()
        )

    def headers_for(self, url: str) -> dict[str, str]:
        """Return the headers that sign a request for a URL."""
        parts = urlsplit(url)
        message = _Message(
            "GET", f"{parts.scheme}://{parts.netloc}/", {"Signature-Agent": self._agent}
        )
        now = datetime.now(UTC)
        self._signer.sign(
            message,
            key_id=self._key_id,
            created=now,
            expires=now + _LIFE,
            nonce=base64.b64encode(secrets.token_bytes(_NONCE)).decode(),
            label=_LABEL,
            tag=_TAG,
            covered_component_ids=("@authority", f'"signature-agent";key="{_LABEL}"'),
        )
        return message.headers


def check_agent(agent: str) -> None:
    """Refuse what is not the https URL of a host.

    Raises:
        SettingsError: naming it.
    """
    parts = urlsplit(agent)
    is_host = parts.scheme == "https" and parts.hostname and parts.path in {"", "/"}
    if not is_host or parts.query or parts.fragment or '"' in agent or not agent.isascii():
        raise SettingsError(
            f"identity_agent {agent!r}: write the https URL of the host that publishes the key, "
            "such as https://crawler.example"
        )


def read_key(file: str) -> "Ed25519PrivateKey":
    """Return the private key in a file.

    Raises:
        SettingsError: naming the file, never its content.
    """
    require("identity", "a signed identity")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415 - optional
        Ed25519PrivateKey,
    )
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - optional
        load_pem_private_key,
    )

    try:
        key = load_pem_private_key(Path(file).read_bytes(), password=None)
    except OSError as error:
        raise SettingsError(f"identity {file}: {error.strerror}; {_ADVICE}") from None
    except (ValueError, TypeError):
        raise SettingsError(f"identity {file}: it is not a private key in PEM; {_ADVICE}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise SettingsError(f"identity {file}: the key has to be for Ed25519; {_ADVICE}")
    return key


def make_key(file: str) -> None:
    """Make a private key in a new file, which only its owner can read.

    Raises:
        FileExistsError: there is a file.
    """
    require("identity", "a signed identity")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415 - optional
        Ed25519PrivateKey,
    )
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - optional
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    made = Ed25519PrivateKey.generate()
    text = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    number = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE)
    with os.fdopen(number, "wb") as output:
        output.write(text)


def public_key(key: "Ed25519PrivateKey") -> dict[str, str]:
    """Return the public half as a JSON Web Key (RFC 8037); its id is its thumbprint (RFC 7638)."""
    x = _base64(key.public_key().public_bytes_raw())
    needed = {"crv": "Ed25519", "kty": "OKP", "x": x}
    text = json.dumps(needed, separators=(",", ":"), sort_keys=True)
    return {**needed, "kid": _base64(hashlib.sha256(text.encode()).digest()), "use": "sig"}


def _base64(data: bytes) -> str:
    """Return bytes in base64url without padding (RFC 7515 section 2)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

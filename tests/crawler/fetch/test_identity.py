"""Signed requests: what a server can verify, and what nobody may see."""

import asyncio
import base64
import json
import re
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from http_message_signatures import (
    HTTPMessageVerifier,
    HTTPSignatureKeyResolver,
    InvalidSignature,
    algorithms,
)
from support.crawls import crawl, page, target_of
from support.servers import Answer, ok
from support.sites import run_command

from canonry.crawler.fetch import identity
from canonry.crawler.fetch.client import Client
from canonry.crawler.fetch.identity import RequestSigner, make_key, public_key, read_key
from canonry.crawler.settings import SettingsError, load

AGENT = "https://crawler.example"
# The key of RFC 9421, appendix B.1.4, and its thumbprint as the drafts of Web Bot Auth give it.
RFC_KEY = """-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
-----END PRIVATE KEY-----
"""
RFC_X = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"
RFC_THUMBPRINT = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"


class Request(NamedTuple):
    """A request as a server sees it."""

    method: str
    url: str
    headers: Mapping[str, str]


def verified(request: Request, key: dict[str, str]) -> dict[str, object]:
    """Verify a request as a server does that has the directory of keys; return its parameters."""
    public = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(key["x"] + "="))

    class Keys(HTTPSignatureKeyResolver):
        def resolve_public_key(self, key_id: str) -> Ed25519PublicKey:
            assert key_id == key["kid"]
            return public

    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=Keys())
    [found] = verifier.verify(request, expect_tag="web-bot-auth")
    assert set(found.covered_components) == {
        '"@authority"',
        '"signature-agent";key="sig1"',
        '"@signature-params"',
    }
    return dict(found.parameters)


def test_the_public_key_and_its_thumbprint_are_those_of_the_rfcs(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    file.write_text(RFC_KEY)
    found = public_key(read_key(str(file)))
    assert (found["x"], found["kid"]) == (RFC_X, RFC_THUMBPRINT)


def test_each_request_is_signed_anew_for_its_own_host(tmp_path: Path) -> None:
    file = str(tmp_path / "key.pem")
    make_key(file)
    key = public_key(read_key(file))
    heads: list[bytes] = []

    def answer(head: bytes) -> Answer:
        heads.append(head)
        if target_of(head) == "/":
            return ok(b"", "Location: http://b.example:8080/x?%zz|y", status="301 Moved")
        return page()

    crawl(tmp_path, answer, scope="any", fetch={"identity": file, "identity_agent": AGENT})
    nonces = set()
    hosts = set()
    for head in heads:
        first, *lines = head.decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines if line)
        request = Request(
            "GET", f"http://{headers['Host']}{first.split(' ')[1].split('?')[0]}", headers
        )
        parameters = verified(request, key)
        assert headers["Signature-Agent"] == f'sig1="{AGENT}"'
        created, expires = int(str(parameters["created"])), int(str(parameters["expires"]))
        assert abs(created - time.time()) < 60
        assert expires - created == 60
        nonces.add(parameters["nonce"])
        hosts.add(headers["Host"])
        moved = request._replace(url="http://c.example/")
        with pytest.raises(InvalidSignature):
            verified(moved, key)
    assert hosts == {"a.example", "b.example:8080"}
    assert len(nonces) == len(heads) >= 4, "robots.txt, too"
    secret = Path(file).read_text().splitlines()[1].encode()
    for made in tmp_path.rglob("*"):
        if made.is_file() and made.name != "key.pem":
            assert secret not in made.read_bytes(), made


def test_the_command_makes_a_key_and_what_to_publish(tmp_path: Path) -> None:
    done = run_command("identity", "key.pem", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    [key] = json.loads(done.stdout)["keys"]
    assert key == public_key(read_key(str(tmp_path / "key.pem")))
    assert b"PRIVATE" not in done.stdout + done.stderr
    assert identity.DIRECTORY.encode() in done.stderr
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
    again = run_command("identity", "key.pem", "-o", "directory", folder=tmp_path)
    assert json.loads((tmp_path / "directory").read_bytes()) == json.loads(done.stdout)
    assert b"new private key" not in again.stderr
    refused = run_command("identity", "key.pem", "-o", "key.pem", folder=tmp_path)
    assert refused.returncode == 2
    assert b"this is an input" in refused.stderr


@pytest.mark.parametrize(
    ("content", "agent", "says"),
    [
        (None, AGENT, "No such file or directory; 'canonry identity FILE' makes one"),
        ("nothing", AGENT, "it is not a private key in PEM"),
        ("ec", AGENT, "the key has to be for Ed25519"),
        (RFC_KEY, "http://crawler.example", "write the https URL of the host"),
        (RFC_KEY, "", "write the https URL of the host"),
        (RFC_KEY, "https://crawler.example/keys", "write the https URL of the host"),
        (RFC_KEY, 'https://crawler.example/"', "write the https URL of the host"),
    ],
)
def test_what_cannot_sign_is_named(
    tmp_path: Path, content: str | None, agent: str, says: str
) -> None:
    file = tmp_path / "key.pem"
    if content == "ec":
        other = ec.generate_private_key(ec.SECP256R1())
        file.write_bytes(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    elif content is not None:
        file.write_text(content)
    with pytest.raises(SettingsError, match=re.escape(says)):
        Client(load(None, {"fetch": {"identity": str(file), "identity_agent": agent}}))


def test_nothing_is_signed_unless_asked_for() -> None:
    assert Client(load(None, {}))._signer is None  # noqa: SLF001 - there is no other sign of it


def test_a_signature_depends_on_nothing_but_the_origin(tmp_path: Path) -> None:
    """A URL may be what no RFC allows; the library would refuse to sign it."""
    file = tmp_path / "key.pem"
    file.write_text(RFC_KEY)
    signer = RequestSigner(str(file), f"{AGENT}/")
    key = public_key(read_key(str(file)))
    for url in ("http://a.example/%zz|{}?a b", "https://[::1]:8443/", "http://1.2.3.4/"):
        origin = re.match("https?://[^/]+/", url)
        assert origin is not None
        verified(Request("GET", origin[0], signer.headers_for(url)), key)
    assert asyncio.iscoroutinefunction(Client.get)
    assert isinstance(read_key(str(file)), Ed25519PrivateKey)


@pytest.mark.parametrize(
    ("contact", "sent"),
    [("me@a.example", b"From: me@a.example"), ("https://a.example/@me", None), ("", None)],
)
def test_a_mail_address_is_sent_as_such(tmp_path: Path, contact: str, sent: bytes | None) -> None:
    heads: list[bytes] = []

    def answer(head: bytes) -> Answer:
        heads.append(head)
        return page()

    crawl(tmp_path, answer, contact=contact)
    assert all((sent in head) if sent else (b"\r\nFrom:" not in head) for head in heads)

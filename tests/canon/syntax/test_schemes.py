"""The table of schemes, seen in canonical forms: whose hosts are names, whose paths have steps."""

from support.tables import each

import canonry
from canonry.canon.syntax.schemes import SCHEMES

_NAMES = {  # hosts are domain names
    *("http", "https", "ws", "wss", "ftp", "sftp", "gopher", "wais", "nntp", "news", "prospero"),
    *("telnet", "tn3270", "rlogin", "ldap", "ldaps", "file"),
}
_OTHERS = {"afs", "mailto", "urn", "tel", "data", "javascript", "blob"}
_STEPS = {"http", "https", "ws", "wss", "ftp", "sftp", "file", "afs", "x-foo"}
_EMPTY = {  # what an empty path means; RFC 4266 section 2.1: a menu
    **dict.fromkeys(("http", "https", "ws", "wss", "ftp", "telnet", "tn3270", "rlogin"), "/"),
    "gopher": "/1",
}


def test_all_schemes_are_here() -> None:
    assert SCHEMES.keys() == _NAMES | _OTHERS


@each("scheme", sorted(_NAMES | _OTHERS | {"x-foo"}))
def test_what_a_scheme_adds(scheme: str) -> None:
    name = canonry.canonicalize(f"{scheme}://b%C3%BCcher.example/a", policy="rfc3986")
    assert (name == f"{scheme}://xn--bcher-kva.example/a") == (scheme in _NAMES)
    steps = canonry.canonicalize(f"{scheme}://h/a/../b", policy="rfc3986")
    assert (steps == f"{scheme}://h/b") == (scheme in _STEPS)
    empty = canonry.canonicalize(f"{scheme}://h", policy="rfc3986")
    assert empty == f"{scheme}://h{_EMPTY.get(scheme, '')}"

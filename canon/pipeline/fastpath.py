"""The fast paths: a pattern that knows a canonical URL, and steps that a browser has done already.

Each is told what the plain pipeline would answer, and is held against it by a law under test.
"""

import re
from collections.abc import Callable, Sequence

from canonry.canon.policies.policy import Policy
from canonry.canon.rules.table import Step
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.percent import GEN_DELIMS, SUB_DELIMS, UNRESERVED

# Hosts: names of two or more labels, none of them punycode, the last of letters; or IPv4 addresses
# in their one form. Ports that are no scheme's default, as far as a short pattern can tell.
_NAME = r"(?:(?!xn--)[a-z0-9\-]++\.)++(?!xn--)[a-z]++"
_OCTET = r"(?:0|1[0-9]{0,2}|2(?:[0-4][0-9]?|5[0-5]?|[6-9])?|[3-9][0-9]?)"
_IPV4 = rf"(?:{_OCTET}\.){{3}}{_OCTET}"
_PORT = r"(?::(?!(?:80|443)/)(?:[1-9][0-9]{0,3}|[1-5][0-9]{4})(?=/))?"
# An escape in upper case of a character that is not unreserved (RFC 3986 section 2.3).
_ESCAPE = r"%(?!2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])[0-9A-F]{2}"
# A path in which no segment starts with a dot. The quantifiers are possessive: time is linear.
_PCHARS = re.escape(UNRESERVED + SUB_DELIMS + ":@")
_SEGMENT = rf"/(?!\.)[{_PCHARS}]*+(?:{_ESCAPE}[{_PCHARS}]*+)*+"
# The URL Standard escapes the apostrophe in queries (section 1.3, special-query set).
_FIELD_CHARS = re.escape((UNRESERVED + SUB_DELIMS + ":@/?").replace("'", "").replace("&", ""))

# The practice rules that both fast paths implement: this pattern and the compiled kernel.
COVERED = frozenset({"tracking", "empty-query", "fragment"})


def _never(_text: str) -> bool:
    """Say that nothing is known to be canonical."""
    return False


def clean_pattern(policy: Policy) -> Callable[[str], object]:
    """Compile the test whose yes means: canonical already, nothing to do.

    Its no means nothing. A policy with rules that the pattern cannot speak for gets no fast path.
    """
    if policy.dialect != "whatwg" or not policy.practice <= COVERED:
        return _never
    names = "|".join(map(re.escape, sorted(policy.tracking)))
    prefixes = "|".join(map(re.escape, sorted(policy.tracking_prefixes)))
    tracked = [f"(?:{names})(?:[=&]|\\Z)"] if names else []
    tracked += [prefixes] if prefixes else []
    guard = f"(?!(?i:{'|'.join(tracked)}))" if "tracking" in policy.practice and tracked else ""
    field = rf"{guard}[{_FIELD_CHARS}]*+(?:{_ESCAPE}[{_FIELD_CHARS}]*+)*+"
    query = rf"\?(?=.){field}(?:&{field})*+"
    pattern = rf"https?://(?:{_NAME}|{_IPV4}){_PORT}(?:{_SEGMENT})++(?:{query})?"
    return re.compile(pattern).fullmatch


# For http and https the URL Standard's serializer leaves nothing to these (sections 3.5 and 4.5).
_SERIALIZED = frozenset(
    {
        "scheme-case",
        "host-case",
        "dot-segments",
        "idna-host",
        "ipv6-form",
        "empty-port",
        "port-zeros",
        "default-port",
        "empty-path",
    }
)
# Nor have the rules of other schemes anything to say.
_OTHERS = frozenset(
    {
        "mailto-domain",
        "urn-equivalence",
        "tel-separators",
        "file-host",
        "ftp-type",
        "gopher-type",
        "data-type",
        "ldap-tail",
    }
)
_WITH_ESCAPES = frozenset({"percent-case", "percent-unreserved"})
# Anything that might have to be encoded: brackets may, outside of IPv6 addresses.
_ALLOWED = re.escape((UNRESERVED + SUB_DELIMS + GEN_DELIMS).replace("[", "").replace("]", ""))
_ODD = re.compile(rf"[^%{_ALLOWED}]|%(?![0-9A-Fa-f]{{2}})|#.*#").search
# The parts of such a URL in one go; it has no bare "@" in its userinfo.
_WEB_PARTS = re.compile(
    r"(https?)://(?:([^/?#@]*)@)?(\[[^\]]*\]|[^/?#:]*)(?::([0-9]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?"
).fullmatch


def shortcut(policy: Policy, steps: Sequence[Step]) -> Callable[[str], str | None]:
    """Compile the identity of URLs of the web as ada serialized them; None where it does not know.

    It leaves out the steps that have nothing to do behind a browser's parser, and those on escapes
    where there are none.
    """
    if policy.dialect != "whatwg":
        return lambda _read: None
    left = [
        step for step in steps if step.name not in _SERIALIZED | _OTHERS | {"encode-disallowed"}
    ]
    with_escapes = tuple(step.apply for step in left)
    without = tuple(step.apply for step in left if step.name not in _WITH_ESCAPES)

    def identify(read: str) -> str | None:
        match = _WEB_PARTS(read)
        if match is None or _ODD(read):
            return None
        given = parts = Parts(*match.groups())
        for apply in with_escapes if "%" in read else without:
            parts = apply(parts)
        return read if parts is given else str(parts)

    return identify

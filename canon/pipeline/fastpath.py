"""The fast path without a compiled kernel: patterns for canonical and nearly canonical URLs.

It gives the answer of the plain pipeline or none; a law in the tests compares the two.
"""

import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet

from canonry.canon.policies.policy import Policy
from canonry.canon.rules.practice import without_tracking
from canonry.canon.syntax.patterns import compile_pattern
from canonry.canon.syntax.percent import (
    SUB_DELIMS,
    UNRESERVED,
    decode_unreserved,
    digits_of,
    upper_hex,
)

# Hosts: names of two or more labels, without punycode, the last label all letters; or canonical
# IPv4 addresses. Ports: a short pattern, which leaves out 80 and 443 for both schemes.
_NAME = r"(?:(?!xn--)[a-z0-9\-]++\.)++(?!xn--)[a-z]++"
_OCTET = r"(?:0|1[0-9]{0,2}|2(?:[0-4][0-9]?|5[0-5]?|[6-9])?|[3-9][0-9]?)"
_IPV4 = rf"(?:{_OCTET}\.){{3}}{_OCTET}"
_PORT = r"(?::(?!(?:80|443)/)(?:[1-9][0-9]{0,3}|[1-5][0-9]{4})(?=/))?"
# An upper-case escape of any character that is not unreserved (RFC 3986 section 2.3).
_ESCAPE = rf"%(?!{digits_of(UNRESERVED)})[0-9A-F]{{2}}"
# Path segments that do not start with a dot. Possessive quantifiers keep the time linear.
_PCHARS = re.escape(UNRESERVED + SUB_DELIMS + ":@")
_SEGMENT = rf"/(?!\.)[{_PCHARS}]*+(?:{_ESCAPE}[{_PCHARS}]*+)*+"
# The URL Standard escapes the apostrophe in queries (section 1.3, special-query set).
_FIELD_CHARS = re.escape((UNRESERVED + SUB_DELIMS + ":@/?").replace("'", "").replace("&", ""))

# Such URLs with any escapes, any fields, and a fragment. Groups: all up to the query; the query.
_ANY_ESCAPE = "%[0-9A-Fa-f]{2}"
_NEARLY = compile_pattern(
    rf"(https?://(?:{_NAME}|{_IPV4}){_PORT}(?:/(?!\.)[{_PCHARS}]*+(?:{_ANY_ESCAPE}[{_PCHARS}]*+)*+)++)"
    rf"(?:\?([&{_FIELD_CHARS}]*+(?:{_ANY_ESCAPE}[&{_FIELD_CHARS}]*+)*+))?(?:#.*)?",
    re.DOTALL,
).fullmatch

# The practice rules that both patterns know.
_PRACTICE = frozenset({"tracking", "empty-query", "fragment"})


def is_covered(policy: Policy, practice: AbstractSet[str]) -> bool:
    """Return True if a fast path knows all rules of a policy.

    Args:
        policy: one of any dialect.
        practice: the rules of practice that the fast path knows.
    """
    return policy.dialect == "whatwg" and policy.practice <= practice


def recognizer(policy: Policy) -> Callable[[str], tuple[str, str] | None]:
    """Return a function from a text to its URL to request and its identity, without a parser.

    It answers for canonical URLs, and for URLs in which only escapes, tracking parameters, a bare
    question mark or a fragment are not canonical. None means "unknown"; it is the only answer for
    policies with rules that the patterns lack.
    """
    if not is_covered(policy, _PRACTICE):
        return lambda _text: None
    is_canonical = _canonical_pattern(policy)
    drops_tracking = "tracking" in policy.practice
    without = without_tracking(policy.lists)
    drops_fragment, drops_empty = (name in policy.practice for name in ("fragment", "empty-query"))

    def recognize(text: str) -> tuple[str, str] | None:
        if is_canonical(text):
            return text, text
        match = _NEARLY(text)
        if match is None:
            return None
        path, query = match.groups()
        url = text[: match.end(1 if query is None else 2)]
        if len(url) < len(text) and not drops_fragment:
            return None
        if "%" in url:
            path = decode_unreserved(upper_hex(path))
            query = query and decode_unreserved(upper_hex(query))
            if "/." in path:  # perhaps dot segments
                return None
        if query and drops_tracking:
            query = without(query)
        if query is None or (query == "" and drops_empty):
            return url, path
        return url, f"{path}?{query}"

    return recognize


def _canonical_pattern(policy: Policy) -> Callable[[str], object]:
    """Return a test that is true only for canonical URLs, which need no more work."""
    names = "|".join(map(re.escape, sorted(policy.tracking)))
    prefixes = "|".join(map(re.escape, sorted(policy.tracking_prefixes)))
    tracked = [f"(?:{names})(?:[=&]|\\Z)"] if names else []
    tracked += [prefixes] if prefixes else []
    guard = f"(?!(?i:{'|'.join(tracked)}))" if "tracking" in policy.practice and tracked else ""
    field = rf"{guard}[{_FIELD_CHARS}]*+(?:{_ESCAPE}[{_FIELD_CHARS}]*+)*+"
    query = rf"\?(?=.){field}(?:&{field})*+"
    pattern = rf"https?://(?:{_NAME}|{_IPV4}){_PORT}(?:{_SEGMENT})++(?:{query})?"
    return compile_pattern(pattern).fullmatch

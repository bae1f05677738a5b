"""The compiled kernel, if it was built: for which policies it works, and its tables."""

from functools import cache
from typing import TypeVar

from canonry.canon.pipeline.fastpath import is_covered
from canonry.canon.policies.policy import Policy
from canonry.canon.references import whatwg
from canonry.canon.syntax.percent import PATH, QUERY, UNRESERVED

try:
    from canonry.canon.pipeline._kernel import RULES, VERSION, Kernel
except ImportError:  # Canonry was installed without a C compiler: everything works, but slower
    VERSION, RULES = 0, ()

_T = TypeVar("_T", bound=tuple[str, str, bytes])

# A kernel compiled from another version of the source is ignored.
_VERSION = 16
# The table runs these before "tracking"; the kernel runs "tracking" first.
_BEFORE_TRACKING = frozenset({"decode-escapes", "archive-session"})
_LONGEST_NAME = 63
_REFUSE, _KEEP, _ENCODE = range(3)


def is_compiled() -> bool:
    """Return True if the compiled kernel is there; without it, every answer takes longer.

    Answers are the same without it. It is missing where Canonry was installed without a working C
    compiler.

    >>> import canonry
    >>> canonry.is_compiled() in {True, False}
    True
    """
    return VERSION == _VERSION


def kernel_in_words() -> str:
    """Return whether the compiled kernel is there, for people."""
    if is_compiled():
        return "compiled"
    return "not compiled, so slower: it was installed without a working C compiler"


def named(rules: int) -> frozenset[str]:
    """Return the names of rules that `Kernel.merging` returns as bits."""
    return frozenset(name for bit, name in enumerate(RULES) if rules >> bit & 1)


def rule_bit(name: str) -> int:
    """Return the bit of a rule in what `Kernel.lines` and `Kernel.merging` return; 0: no kernel."""
    return 1 << RULES.index(name) if is_compiled() else 0


def kernel(policy: Policy, canonical: type[_T]) -> "Kernel[_T] | None":
    """Return the compiled kernel of a policy, or None if it cannot run this policy.

    Args:
        policy: the rules to obey.
        canonical: the type of the kernel's answers.
    """
    if not is_compiled() or not _is_covered(policy):
        return None
    tracking, prefixes = sorted(policy.tracking), policy.tracking_prefixes
    if "tracking" not in policy.practice:
        tracking, prefixes = [], ()
    lists = tracking, prefixes, sorted(policy.session), sorted(policy.index_files)
    if not all(name.isascii() and len(name) <= _LONGEST_NAME for names in lists for name in names):
        return None
    return Kernel(
        canonical,
        policy.label.encode(),
        _tables(),
        tuple(policy.practice),
        tuple(tuple(name.encode() for name in names) for names in lists),
    )


def _is_covered(policy: Policy) -> bool:
    """Return True if the kernel knows all rules of a policy, and in their order."""
    if "tracking" in policy.practice and policy.practice & _BEFORE_TRACKING:
        return False
    return is_covered(policy, frozenset(RULES))


@cache
def _tables() -> bytes:
    """Return seven tables of 256 bytes, each with one entry for each byte.

    What to do with it in the path and in the query of the URL to request, and in those of the
    identity; whether to decode its escape; whether RFC 3986 allows it in paths, and in queries. The
    URL Standard's parser gives the first two, one character at a time.
    """
    request_path = _request_table("/")
    request_query = _request_table("/?")
    identity_path = _identity_table(request_path, PATH)
    identity_query = _identity_table(request_query, QUERY)
    sets = (bytes(chr(code) in one for code in range(256)) for one in (UNRESERVED, PATH, QUERY))
    return b"".join((request_path, request_query, identity_path, identity_query, *sets))


def _request_table(before: str) -> bytes:
    """Find the percent-encode set of a component with the URL Standard's parser (section 1.3)."""
    table = bytearray(0x80) + bytes((_ENCODE,)) * 0x80  # bytes beyond ASCII, UTF-8 or not
    for code in range(0x20, 0x80):
        written = whatwg.serialize(f"http://a{before}a{chr(code)}a").removeprefix(
            f"http://a{before}a"
        )
        if written == f"{chr(code)}a":
            table[code] = _KEEP
        elif written == f"%{code:02X}a":
            table[code] = _ENCODE
    return bytes(table)


def _identity_table(requested: bytes, allowed: str) -> bytes:
    """Return a request table that also encodes what RFC 3986 does not allow (section 2.1)."""
    return bytes(
        _ENCODE if what == _KEEP and chr(code) not in allowed else what
        for code, what in enumerate(requested)
    )

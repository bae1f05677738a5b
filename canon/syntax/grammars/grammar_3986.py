"""The grammar of RFC 3986: every production of appendix A, as a pattern."""

import re

from canonry.canon.syntax.percent import ALPHA, DIGIT, GEN_DELIMS, SUB_DELIMS, UNRESERVED

# Appendix A in reverse order: each production follows the ones that it is built from. Quantifiers
# over character classes are possessive, so that matching takes linear time.
_CHARS = {
    "unreserved": re.escape(UNRESERVED),
    "gen-delims": re.escape(GEN_DELIMS),
    "sub-delims": re.escape(SUB_DELIMS),
    "reserved": re.escape(GEN_DELIMS + SUB_DELIMS),
}
_PCT = "%[0-9A-Fa-f]{2}"
_REG = rf"(?:[{_CHARS['unreserved']}{_CHARS['sub-delims']}]|{_PCT})"
_USER = rf"(?:[{_CHARS['unreserved']}{_CHARS['sub-delims']}:]|{_PCT})"
_PCHAR = rf"(?:[{_CHARS['unreserved']}{_CHARS['sub-delims']}:@]|{_PCT})"
_NO_COLON = rf"(?:[{_CHARS['unreserved']}{_CHARS['sub-delims']}@]|{_PCT})"
_QUERY = rf"(?:[{_CHARS['unreserved']}{_CHARS['sub-delims']}:@/?]|{_PCT})*+"

OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])"
IPV4 = rf"{OCTET}\.{OCTET}\.{OCTET}\.{OCTET}"
_H16 = "[0-9A-Fa-f]{1,4}"
_LS32 = rf"(?:{_H16}:{_H16}|{IPV4})"
IPV6 = "|".join(
    (
        rf"(?:{_H16}:){{6}}{_LS32}",
        rf"::(?:{_H16}:){{5}}{_LS32}",
        rf"(?:{_H16})?::(?:{_H16}:){{4}}{_LS32}",
        rf"(?:(?:{_H16}:){{0,1}}{_H16})?::(?:{_H16}:){{3}}{_LS32}",
        rf"(?:(?:{_H16}:){{0,2}}{_H16})?::(?:{_H16}:){{2}}{_LS32}",
        rf"(?:(?:{_H16}:){{0,3}}{_H16})?::{_H16}:{_LS32}",
        rf"(?:(?:{_H16}:){{0,4}}{_H16})?::{_LS32}",
        rf"(?:(?:{_H16}:){{0,5}}{_H16})?::{_H16}",
        rf"(?:(?:{_H16}:){{0,6}}{_H16})?::",
    )
)
_IPVFUTURE = rf"[vV][0-9A-Fa-f]+\.[{_CHARS['unreserved']}{_CHARS['sub-delims']}:]+"
_LITERAL = rf"\[(?:{IPV6}|{_IPVFUTURE})\]"
_HOST = rf"(?:{_LITERAL}|{_REG}*+)"  # an IPv4address also matches reg-name
_AUTHORITY = rf"(?:{_USER}*+@)?{_HOST}(?::[0-9]*+)?"
_SCHEME = rf"[{ALPHA}][{ALPHA}{DIGIT}+\-.]*+"

_SEGMENT = rf"{_PCHAR}*+"
_ABEMPTY = rf"(?:/{_SEGMENT})*+"
_ROOTLESS = rf"{_PCHAR}++{_ABEMPTY}"
_NOSCHEME = rf"{_NO_COLON}++(?:/{_SEGMENT})*+"
_ABSOLUTE = rf"/(?:{_ROOTLESS})?"
_HIER = rf"(?://{_AUTHORITY}{_ABEMPTY}|{_ABSOLUTE}|{_ROOTLESS}|)"
_RELATIVE_PART = rf"(?://{_AUTHORITY}{_ABEMPTY}|{_ABSOLUTE}|{_NOSCHEME}|)"
_ABSOLUTE_URI = rf"{_SCHEME}:{_HIER}(?:\?{_QUERY})?"
_URI = rf"{_ABSOLUTE_URI}(?:\#{_QUERY})?"
_RELATIVE = rf"{_RELATIVE_PART}(?:\?{_QUERY})?(?:\#{_QUERY})?"

PRODUCTIONS: dict[str, str] = {
    "URI": _URI,
    "hier-part": _HIER,
    "URI-reference": rf"(?:{_URI}|{_RELATIVE})",
    "absolute-URI": _ABSOLUTE_URI,
    "relative-ref": _RELATIVE,
    "relative-part": _RELATIVE_PART,
    "scheme": _SCHEME,
    "authority": _AUTHORITY,
    "userinfo": rf"{_USER}*+",
    "host": _HOST,
    "port": "[0-9]*+",
    "IP-literal": _LITERAL,
    "IPvFuture": _IPVFUTURE,
    "IPv6address": IPV6,
    "h16": _H16,
    "ls32": _LS32,
    "IPv4address": IPV4,
    "dec-octet": OCTET,
    "reg-name": rf"{_REG}*+",
    "path": rf"(?:{_ABSOLUTE}|{_ABEMPTY}|{_ROOTLESS}|)",
    "path-abempty": _ABEMPTY,
    "path-absolute": _ABSOLUTE,
    "path-noscheme": _NOSCHEME,
    "path-rootless": _ROOTLESS,
    "path-empty": "",
    "segment": _SEGMENT,
    "segment-nz": rf"{_PCHAR}++",
    "segment-nz-nc": rf"{_NO_COLON}++",
    "pchar": _PCHAR,
    "query": _QUERY,
    "fragment": _QUERY,
    "pct-encoded": _PCT,
    **{name: f"[{chars}]" for name, chars in _CHARS.items()},
}

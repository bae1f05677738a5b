"""Percent-encoding: allowed characters, and the normal form of escapes (RFC 3986 section 2)."""

import re
from functools import partial
from itertools import groupby
from operator import itemgetter

from canonry.canon.arguments import URL_WANTED, wrong_type
from canonry.canon.errors import InvalidURL, Reason
from canonry.canon.syntax.patterns import compile_pattern

# The classes of RFC 3986 appendix A, each built from those before it.
ALPHA = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
DIGIT = "0123456789"
UNRESERVED = ALPHA + DIGIT + "-._~"  # section 2.3
SUB_DELIMS = "!$&'()*+,;="  # section 2.2
GEN_DELIMS = ":/?#[]@"  # section 2.2
PCHAR = UNRESERVED + SUB_DELIMS + ":@"  # section 3.3
USERINFO = UNRESERVED + SUB_DELIMS + ":"  # section 3.2.1
REG_NAME = UNRESERVED + SUB_DELIMS  # section 3.2.2
PATH = PCHAR + "/"  # section 3.3
QUERY = PCHAR + "/?"  # section 3.4


def digits_of(characters: str) -> str:
    """Return a pattern of the digits, in upper case, of the escapes of ASCII characters."""
    codes = sorted(f"{ord(c):02X}" for c in characters)
    return "|".join(
        f"{high}[{''.join(c[1] for c in low)}]" for high, low in groupby(codes, itemgetter(0))
    )


# The escapes that normalization changes: those with lower-case digits, and those of unreserved
# characters.
_LOWER_ESCAPE = re.compile(r"%(?:[a-f][0-9A-Fa-f]|[0-9A-F][a-f])")
_UNRESERVED_ESCAPE = re.compile(f"%(?:{digits_of(UNRESERVED)})", re.IGNORECASE)
# The fewer escapes that draft-fielding-uri-rfc2396bis-01 lets a normalizer decode (section 2.3).
_LETTER_ESCAPE = re.compile(f"%(?:{digits_of(ALPHA + DIGIT + '_~')})", re.IGNORECASE)
_UNDECODABLE = re.compile(r"[\ud800-\udfff]")
_BYTES = (bytes, bytearray)


def to_text(url: str | bytes, name: str = "a URL") -> str:
    r"""Return the URL as text that UTF-8 can encode, with every byte preserved.

    Bytes that are not UTF-8 become percent-escapes: ``b"/\xe9"`` is ``/%E9``. A ``str`` may carry
    such bytes as lone surrogates, U+DC80 to U+DCFF, as Python does for undecodable file names and
    arguments (PEP 383). They are escaped in the same way.

    Args:
        url: the URL.
        name: what to call it in an error.

    Raises:
        InvalidURL: the text holds any other lone surrogate.
        TypeError: it is neither text nor bytes.
    """
    if isinstance(url, str):
        text = url
    elif isinstance(url, _BYTES):
        text = url.decode("utf-8", "surrogateescape")
    else:
        raise wrong_type(name, url, URL_WANTED)
    if text.isascii():
        return text
    return _UNDECODABLE.sub(partial(_escape_undecodable, text), text)


def _escape_undecodable(text: str, match: re.Match[str]) -> str:
    """Return the escape of a byte that a surrogate carries; refuse any other surrogate."""
    code = ord(match[0])
    if not 0xDC80 <= code <= 0xDCFF:  # noqa: PLR2004 - the range that PEP 383 reserves for bytes
        raise InvalidURL(Reason.SURROGATE, text, match.start())
    return f"%{code - 0xDC00:02X}"


def upper_hex(text: str) -> str:
    """Convert the hexadecimal digits of escapes to upper case (RFC 3986 section 6.2.2.1)."""
    return _LOWER_ESCAPE.sub(lambda match: match[0].upper(), text) if "%" in text else text


def decode_unreserved(text: str) -> str:
    """Decode the escapes of unreserved characters, and no others (RFC 3986 section 6.2.2.2)."""
    return _UNRESERVED_ESCAPE.sub(_decode, text) if "%" in text else text


def decode_letters(text: str) -> str:
    """Decode the escapes of letters, digits, ``_`` and ``~`` (rfc2396bis-01 section 6.2.2.2)."""
    return _LETTER_ESCAPE.sub(_decode, text) if "%" in text else text


def _decode(match: re.Match[str]) -> str:
    """Return the character that an escape encodes."""
    return chr(int(match[0][1:], 16))


def encoder(allowed: str) -> re.Pattern[str]:
    """Return a pattern that finds runs of characters to escape: those outside ``allowed``.

    A percent sign that starts no escape is also found.
    """
    return compile_pattern(rf"(?:%(?![0-9A-Fa-f]{{2}}))++|[^%{re.escape(allowed)}]++")


def encode(text: str, disallowed: re.Pattern[str]) -> str:
    """Percent-encode, as UTF-8, what a pattern from `encoder` finds (RFC 3986 section 2.1)."""
    return disallowed.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    """Return the escapes of the UTF-8 bytes of a run of characters."""
    return f"%{match[0].encode().hex('%').upper()}"

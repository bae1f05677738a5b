"""The dialect of browsers: the URL Standard (url.spec.whatwg.org), parsed by ada."""

import ada_url

from canonry.canon.errors import InvalidURL, Reason
from canonry.canon.syntax.schemes import SPECIAL
from canonry.canon.syntax.uri import MAX_PORT, split, split_authority

# "Leading and trailing C0 control or space" are stripped (URL Standard section 4.4).
STRIPPED = "".join(map(chr, range(0x21)))
# "ASCII tab or newline" are removed everywhere (same section); for `str.translate`.
REMOVED = dict.fromkeys(map(ord, "\t\n\r"))


def serialize(text: str) -> str:
    """Parse an absolute URL as a browser does and return its serialization.

    Raises:
        InvalidURL: the URL Standard's parser returns failure.
    """
    try:
        return ada_url.normalize_url(text)
    except ValueError:
        raise diagnose(text, base=None) from None


def join(base: str, reference: str) -> str:
    """Parse a reference against a base as a browser does and return its serialization.

    Raises:
        InvalidURL: the URL Standard's parser returns failure, for the base or the reference.
    """
    try:
        return ada_url.join_url(base, reference)
    except ValueError:
        raise diagnose(reference, base) from None


def relative(text: str) -> tuple[Reason, int] | None:
    """Return why, and where, a text without any colon is no absolute URL; None if it has one.

    This is what `diagnose` would find, in a tenth of the time: many lists have such lines.
    """
    if ":" in text:
        return None
    bare = text.lstrip(STRIPPED)
    return (Reason.RELATIVE, len(text) - len(bare)) if bare else (Reason.EMPTY, 0)


def diagnose(text: str, base: str | None) -> InvalidURL:
    """Find out why, and where, the parser refused ``text``: the parser itself does not tell."""
    if base is not None and not ada_url.check_url(base):
        return InvalidURL(Reason.BASE, base)
    lead = len(text) - len(text.lstrip(STRIPPED))
    bare = text.strip(STRIPPED).translate(REMOVED)
    uri = split(bare)
    if base is not None and uri.scheme is None and _is_opaque(base):
        return InvalidURL(Reason.BASE, base)
    if not bare:
        return InvalidURL(Reason.EMPTY, text)
    if uri.scheme is None and base is None:
        colon = bare.partition("/")[0].find(":")
        reason = Reason.SCHEME if colon >= 0 else Reason.RELATIVE
        return InvalidURL(reason, text, lead + max(colon, 0))
    return _diagnose_authority(text, bare, uri.scheme)


def _is_opaque(base: str) -> bool:
    """Return True if a base has an opaque path, so that only fragments resolve against it."""
    scheme, authority, path, _, _ = split(ada_url.normalize_url(base))
    return scheme not in SPECIAL and authority is None and not path.startswith("/")


def _diagnose_authority(text: str, bare: str, scheme: str | None) -> InvalidURL:
    """Find the fault in the authority of a URL, where all remaining faults are."""
    slashes = bare.replace("\\", "/") if (scheme or "http").lower() in SPECIAL else bare
    after_scheme = slashes[len(scheme) + 1 :] if scheme else slashes
    authority = split(f"//{after_scheme.lstrip('/')}").authority or ""
    userinfo, host, port = split_authority(authority)
    start = max(text.find(authority), 0) + (0 if userinfo is None else len(userinfo) + 1)
    if port and int(port.lstrip("0")[:6] or "0") > MAX_PORT:
        return InvalidURL(Reason.PORT, text, start + len(host) + 1)
    if not host:
        return InvalidURL(Reason.NO_HOST, text, start)
    if ":" in host and not host.startswith("["):
        return InvalidURL(Reason.PORT, text, start + host.find(":") + 1)
    return InvalidURL(Reason.HOST, text, start)

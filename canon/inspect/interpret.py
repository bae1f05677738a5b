"""Reading a URL by the syntax of its own scheme."""

from collections.abc import Callable, Mapping

from canonry.canon.arguments import check_choice
from canonry.canon.errors import InvalidURL, Reason
from canonry.canon.inspect import newer_schemes, older_schemes, strict_forms
from canonry.canon.inspect.forms import Form
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.percent import to_text
from canonry.canon.syntax.uri import parse


def interpret(url: str | bytes, *, strict: bool = False, document: str | None = None) -> Form:
    """Return what an absolute URL means by the specification of its scheme.

    Nothing of a URL is dropped: what its scheme has no place for is kept in the result, or the URL
    is refused. The fragment is no part of it, because it belongs to no scheme (RFC 3986 section
    3.5): `parse` returns it. Only a URN and a program have it in their results.

    Args:
        url: absolute.
        strict: also refuse what the grammar of the document excludes and we can read all the same,
            such as ``file://user@host/``, ``ftp://host/a;b``, or any character that must be
            escaped. Without a document: what all documents of the scheme exclude.
        document: ``"rfc1738"`` reads the ten schemes of RFC 1738 by that document alone, and
            ``"url-1993"`` those of the draft of 1993: there, ``?`` begins a search in gopher, too,
            the results have the ``words`` of a search, and telnet has no default port. Left out,
            each scheme is read by its newest document, and what only the draft of 1993 has is
            read, too, where both can be told apart.

    Returns:
        One of the tuples of `canonry.canon.inspect.forms`; for a scheme that the document does not
        know (``x-`` schemes are among these), the five generic components.

    Raises:
        InvalidURL: the URL is relative, or breaks the syntax of its scheme.
        ValueError: there is no such document.
        TypeError: an argument has a wrong type.

    Source: RFC 1738 section 3 and the documents named at each result type.

    >>> canonry.interpret("ftp://host/%2Fetc/motd;type=a").directories
    ('/etc',)
    >>> canonry.interpret("mailto:joe@example.com?subject=Hi").to
    ('joe@example.com',)
    """
    if document is not None:
        check_choice("document", document, DOCUMENTS)
    text = to_text(url)
    parts = Parts.of(text)
    if parts.scheme is None:
        raise InvalidURL(Reason.RELATIVE if text else Reason.EMPTY, text)
    readers = FORMS if document is None else DOCUMENTS[document]
    read = readers.get(parts.scheme.lower())
    form = parse(text) if read is None else read(parts, text)
    if strict:
        strict_forms.check(parts, text, document)
    return form


_Readers = Mapping[str, Callable[[Parts, str], Form]]

FORMS: _Readers = {
    "http": older_schemes.web,
    "https": older_schemes.web,
    "ws": older_schemes.web,
    "wss": older_schemes.web,
    "ftp": older_schemes.ftp,
    "sftp": older_schemes.ftp,
    "gopher": older_schemes.gopher,
    "mailto": newer_schemes.mailto,
    "news": older_schemes.news,
    "nntp": older_schemes.nntp,
    "telnet": older_schemes.terminal,
    "tn3270": older_schemes.terminal,
    "rlogin": older_schemes.terminal,
    "wais": older_schemes.wais,
    "file": older_schemes.file,
    "prospero": older_schemes.prospero,
    "afs": older_schemes.afs,
    "urn": newer_schemes.urn,
    "tel": newer_schemes.tel,
    "data": newer_schemes.data,
    "ldap": newer_schemes.ldap,
    "ldaps": newer_schemes.ldap,
    "javascript": newer_schemes.script,
    "blob": newer_schemes.blob,
}

# The documents that can be asked for by name, and the schemes that each defines.
DOCUMENTS: Mapping[str, _Readers] = {
    "rfc1738": {
        "ftp": older_schemes.ftp,
        "http": older_schemes.web,
        "gopher": older_schemes.gopher,
        "mailto": older_schemes.mailto_1738,
        "news": older_schemes.news_1738,
        "nntp": older_schemes.nntp,
        "telnet": older_schemes.terminal,
        "wais": older_schemes.wais_1738,
        "file": older_schemes.file,
        "prospero": older_schemes.prospero_1738,
    },
    "url-1993": {
        "http": older_schemes.web_1993,
        "ftp": older_schemes.ftp_1993,
        "news": older_schemes.news_1738,
        "wais": older_schemes.wais_1993,
        "prospero": older_schemes.prospero_1993,
        "gopher": older_schemes.gopher_1993,
        "telnet": older_schemes.terminal_1993,
        "rlogin": older_schemes.terminal_1993,
        "tn3270": older_schemes.terminal_1993,
        "afs": older_schemes.afs,
    },
}

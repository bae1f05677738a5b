"""Matching texts against the grammars of RFC 3986 and of its ancestors."""

import re
from functools import cache
from importlib import import_module

from canonry.canon.arguments import check_choice, check_text
from canonry.canon.syntax.patterns import compile_pattern
from canonry.canon.syntax.percent import to_text

# The documents and the modules with their grammars, which are loaded on first use.
DOCUMENTS = {
    "rfc3986": "grammar_3986",
    "rfc2396bis-01": "grammar_2003",
    "url-syntax-05": "grammar_1997",
    "rfc1738": "grammar_1738",
    "url-1993": "grammar_1993",
}
_REFERENCE = re.compile(r"<([a-zA-Z][\w+\-]*)>")


def productions_of(document: str) -> dict[str, str]:
    """Return a document's patterns by production; in them, ``<name>`` is another production."""
    module = import_module(f"canonry.canon.syntax.grammars.{DOCUMENTS[document]}")
    table: dict[str, str] = module.PRODUCTIONS
    return table


def _expanded(table: dict[str, str], production: str) -> str:
    """Return the pattern of a production, with the productions that it names filled in."""
    return _REFERENCE.sub(lambda name: f"(?:{_expanded(table, name[1])})", table[production])


@cache
def _pattern(document: str, production: str) -> re.Pattern[str]:
    """Compile a production on first use: compiling all of them would add 50 ms to start-up."""
    return compile_pattern(_expanded(productions_of(document), production))


def matches(production: str, text: str | bytes, *, document: str = "rfc3986") -> bool:
    """Return True if a text matches a production of a document's grammar.

    Args:
        production: a name in that grammar, such as ``"URI-reference"`` or ``"IPv6address"`` in
            RFC 3986, ``"absoluteURL"`` in the draft of 1997, ``"ftpurl"`` in RFC 1738.
            docs/reference/grammars.md lists them.
        text: the whole of it has to match.
        document: ``"rfc3986"`` (appendix A), ``"rfc2396bis-01"`` (2003, sections 2 to 5),
            ``"url-syntax-05"`` (1997, appendix A), ``"rfc1738"`` (section 5) or ``"url-1993"``.

    Raises:
        ValueError: the document is unknown, or its grammar has no production of that name.
        TypeError: an argument has a wrong type.

    Literal letters match in either case in RFC 3986 and RFC 2396bis (RFC 5234 section 2.3); the
    older grammars give the case of each letter.

    >>> canonry.matches("IPv6address", "::1"), canonry.matches("IPv6address", "::g")
    (True, False)
    """
    check_text("production", production)
    check_choice("document", document, DOCUMENTS)
    table = productions_of(document)
    if production not in table:
        allowed = ", ".join(table)
        message = f"the grammar of {document} has no production {production!r}; it has {allowed}"
        raise ValueError(message)
    return _pattern(document, production).fullmatch(to_text(text, "the text")) is not None

"""The page of grammars: the productions of every document."""

from canonry.canon.syntax.grammar import DOCUMENTS, productions_of


def grammars_page() -> str:
    """Return the page of grammars, with the productions of every document."""
    lines = [
        "# The grammars",
        "",
        "`make docs` makes this page from `canon/syntax/grammars/`.",
        "",
        "`canonry.matches(production, text, document=…)` returns True if the whole text matches a",
        "production of a document's grammar:",
        "",
        "```python",
        ">>> import canonry",
        '>>> canonry.matches("URI", "1a:b")',
        "False",
        '>>> canonry.matches("absoluteURL", "1a:b", document="url-syntax-05")',
        "True",
        '>>> canonry.matches("httpurl", "http://user@example.com/", document="rfc1738")',
        "False",
        "",
        "```",
        "",
        "They follow the letter of the documents, also where the prose says more: a port has any",
        "number of digits, and in the draft of 1993 a host may hold spaces. Schemes of single URLs",
        "(`ftpurl`) are in lower case in the documents before 2003.",
    ]
    for document in DOCUMENTS:
        names = ", ".join(f"`{name}`" for name in productions_of(document))
        lines += ["", f"## `{document}`", "", names]
    return "\n".join(lines) + "\n"

"""Where the documents disagree: one example each, answered by every dialect as it runs."""

from typing import NamedTuple

import canonry
from canonry.canon.references.resolve import DIALECTS


class Disagreement(NamedTuple):
    """A question that the documents answer differently."""

    question: str
    base: str
    reference: str
    strict: bool = True


_BASE = "http://a/b/c/d;p?q"

DISAGREEMENTS = (
    Disagreement("More `..` than there are levels", _BASE, "../../../g"),
    Disagreement("A path that goes up from the root", _BASE, "/../g"),
    Disagreement("A dot segment in an absolute path", _BASE, "/./g"),
    Disagreement("A query alone", _BASE, "?y"),
    Disagreement("What looks like dot segments in a query", _BASE, "g?y/../x"),
    Disagreement("The base's own scheme before a relative path", _BASE, "http:g"),
    Disagreement("The same, for parsers that are not strict", _BASE, "http:g", strict=False),
    Disagreement("A scheme and nothing else", _BASE, "http:"),
    Disagreement("A dot alone", _BASE, "."),
    Disagreement("Two dots alone", _BASE, ".."),
    Disagreement("A void fragment", _BASE, "g#"),
    Disagreement("Nothing, where the base has a fragment", f"{_BASE}#f", ""),
    Disagreement("Three slashes", "http://a/b///c/d", "///g"),
    Disagreement("A base without a path", "http://a", "g"),
    Disagreement("A base whose path is no hierarchy", "mailto:a@b", "g"),
    Disagreement("Backslashes", _BASE, "..\\g"),
    Disagreement("A space, and a line break inside", _BASE, " g\nh "),
    Disagreement("Escaped dots", _BASE, "%2E%2E/g"),
    Disagreement("Letter case of scheme and host", _BASE, "HTTP://G/"),
    Disagreement("A number for a host", _BASE, "//0x7f.1/"),
    Disagreement("The default port", _BASE, "//g:80/"),
)


def answers(row: Disagreement) -> list[str]:
    """Return each dialect's answer, in the order of the table of dialects."""
    found = []
    for dialect in DIALECTS:
        try:
            found.append(
                canonry.resolve(row.reference, row.base, dialect=dialect, strict=row.strict)
            )
        except canonry.InvalidURL as error:
            found.append(f"refused ({error.reason.name})")
    return found

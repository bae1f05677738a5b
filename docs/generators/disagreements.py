"""Where the specifications disagree: one example each, resolved in every dialect."""

from typing import NamedTuple

import canonry
from canonry.canon.references.resolve import DIALECTS


class Disagreement(NamedTuple):
    """A question that the specifications answer differently."""

    question: str
    base: str
    reference: str
    strict: bool = True


_BASE = "http://a/b/c/d;p?q"

DISAGREEMENTS = (
    Disagreement("More `..` than the path has levels", _BASE, "../../../g"),
    Disagreement("`..` at the root", _BASE, "/../g"),
    Disagreement("A dot segment in an absolute path", _BASE, "/./g"),
    Disagreement("Only a query", _BASE, "?y"),
    Disagreement("Dot segments in a query", _BASE, "g?y/../x"),
    Disagreement("The base's scheme before a relative path", _BASE, "http:g"),
    Disagreement("The same, with `strict=False`", _BASE, "http:g", strict=False),
    Disagreement("Only a scheme", _BASE, "http:"),
    Disagreement("Only a scheme, with `strict=False`", _BASE, "http:", strict=False),
    Disagreement("A scheme that begins with a digit", _BASE, "1a:b"),
    Disagreement("A scheme with other characters", _BASE, "a_b:c"),
    Disagreement("Only one dot", _BASE, "."),
    Disagreement("Only two dots", _BASE, ".."),
    Disagreement("A final `..`", _BASE, "g/.."),
    Disagreement("An empty fragment", _BASE, "g#"),
    Disagreement("An empty reference, and a base with a fragment", f"{_BASE}#f", ""),
    Disagreement("Three slashes", "http://a/b///c/d", "///g"),
    Disagreement("A base without a path", "http://a", "g"),
    Disagreement("A base without a path and without an authority", "foo:", "g"),
    Disagreement("No base", "", "http://a/../b"),
    Disagreement("A base with an opaque path", "mailto:a@b", "g"),
    Disagreement("Backslashes", _BASE, "..\\g"),
    Disagreement("Spaces around it, and a line break inside", _BASE, " g\nh "),
    Disagreement("Escaped dots", _BASE, "%2E%2E/g"),
    Disagreement("Letter case of scheme and host", _BASE, "HTTP://G/"),
    Disagreement("A number as the host", _BASE, "//0x7f.1/"),
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

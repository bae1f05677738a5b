"""A slow, plain recognizer of texts by a grammar in BNF: the oracle of the patterns.

It reads rules as the documents write them: ``name = a "b" | *c [d] (e | f)``, one on each line.
``"b"`` is a text, ``'b'`` any one of its characters, ``2*5x`` a repetition.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parents[1] / "vectors"
_TOKEN = re.compile(r'\s*("[^"]*"|\'(?:[^\']|\'\')*\'|[0-9]*\*[0-9]*|[\[\]()|]|[A-Za-z][\w+\-]*)')
Expression = tuple[Any, ...]


def grammar_of(name: str) -> dict[str, Expression]:
    """Return the rules of a file in the folder of vectors."""
    rules = {}
    for line in (_FOLDER / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("# "):
            rule, _, written = line.partition(" = ")
            tokens = _TOKEN.findall(written)
            assert "".join(tokens) == re.sub(r"\s(?![^']*'(?:\s|$))", "", written), line
            expression, rest = _alternatives(tokens)
            assert not rest, line
            rules[rule] = expression
    return rules


def _alternatives(tokens: list[str]) -> tuple[Expression, list[str]]:
    """Read sequences with bars between."""
    found, rest = _sequence(tokens)
    choices = [found]
    while rest[:1] == ["|"]:
        found, rest = _sequence(rest[1:])
        choices.append(found)
    return ("any", *choices), rest


def _sequence(tokens: list[str]) -> tuple[Expression, list[str]]:
    """Read items until a bar, a closing bracket or the end."""
    items = []
    while tokens and tokens[0] not in {"|", ")", "]"}:
        item, tokens = _item(tokens)
        items.append(item)
    return ("all", *items), tokens


def _item(tokens: list[str]) -> tuple[Expression, list[str]]:
    """Read one item."""
    first, *rest = tokens
    if "*" in first and first[0] not in "\"'":
        least, _, most = first.partition("*")
        item, rest = _item(rest)
        return ("many", int(least or 0), int(most) if most else None, item), rest
    if first in {"(", "["}:
        inner, rest = _alternatives(rest)
        return (inner if first == "(" else ("any", inner, ("all",))), rest[1:]
    if first[0] == '"':
        return ("all", *(("one", frozenset(c)) for c in first[1:-1])), rest
    if first[0] == "'":
        return ("one", frozenset(first[1:-1].replace("''", "'"))), rest
    return ("rule", first), rest


def derives(rules: dict[str, Expression], rule: str, text: str) -> bool:
    """Return True if the whole text can be derived from a rule."""

    @cache
    def ends(expression: Expression, start: int) -> frozenset[int]:
        """Return all places where what begins at ``start`` can end."""
        kind, *args = expression
        places = frozenset({start})
        match kind:
            case "rule":
                places = ends(rules[args[0]], start)
            case "one":
                places = frozenset({start + 1} if text[start : start + 1] in args[0] else ())
            case "any":
                places = frozenset().union(*(ends(choice, start) for choice in args))
            case "all":
                for item in args:
                    places = frozenset().union(*(ends(item, place) for place in places))
            case _:
                places = repeated(*args, start)
        return places

    def repeated(least: int, most: int | None, item: Expression, start: int) -> frozenset[int]:
        """Return where a repetition can end."""
        found = {start} if least == 0 else set()
        places, count = {start}, 0
        while places and (most is None or count < most):
            following = set().union(*(ends(item, place) for place in places))
            count += 1
            if count >= least:
                places = following - found
                found |= following
            else:
                places = following
        return frozenset(found)

    return len(text) in ends(("rule", rule), 0)

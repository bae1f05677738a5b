"""Regular expressions that mean the same under every release of Python."""

import re
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, AnyStr

if TYPE_CHECKING:
    from collections.abc import Iterator

# CPython 3.11.0 to 3.11.4 matches a possessive group wrongly if something in it can be matched in
# two ways (python/cpython#106052). Debian 12 has such a release.
_IS_WRONG = sys.version_info < (3, 11, 5)


def compile_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Compile a pattern that has a possessive group, such as ``(?:ab?)*+``.

    Args:
        pattern: as for ``re.compile``.
        flags: as for ``re.compile``.

    Returns:
        The compiled pattern. In releases with the bug, an atomic group with a greedy quantifier
        replaces the possessive one, which is equivalent; then the ``pattern`` attribute is None.
    """
    return _mended(pattern, flags) if _IS_WRONG else re.compile(pattern, flags)


def _mended(pattern: AnyStr, flags: int) -> re.Pattern[AnyStr]:
    """Compile a pattern with atomic groups, through private modules of releases that are final."""
    parser, compiler = import_module("re._parser"), import_module("re._compiler")
    tree = parser.parse(pattern, flags)
    for part in _parts_of(tree, parser.SubPattern):
        for index, (operation, operand) in enumerate(part.data):
            if operation is parser.POSSESSIVE_REPEAT and not compiler._simple(operand[2]):  # noqa: SLF001 - whether it is one character
                greedy = parser.SubPattern(part.state, [(parser.MAX_REPEAT, operand)])
                part.data[index] = (parser.ATOMIC_GROUP, greedy)
    mended: re.Pattern[AnyStr] = compiler.compile(tree, flags)
    return mended


def _parts_of(tree: object, kind: type[Any]) -> "Iterator[Any]":
    """Yield a parsed pattern and all patterns nested in it."""
    if isinstance(tree, kind):
        yield tree
        tree = [operand for _, operand in tree.data]
    if isinstance(tree, list | tuple):
        for below in tree:
            yield from _parts_of(below, kind)

"""Places: what can be changed in a module, one small change at a time."""

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
# Without arguments, they return a text much like the one they are called on.
_TEXT_METHODS = frozenset({"lower", "upper", "casefold", "strip", "lstrip", "rstrip", "title"})
_TYPES = frozenset({"annotation", "returns", "type_params", "type_ignores"})
_NOTHING_TO_TEST = frozenset({"TypeVar", "NewType", "cast", "ParamSpec"})


class Mutant(NamedTuple):
    """One change: the file, where in it, and what it does."""

    path: str  # from the root of the tree
    number: int  # of the place, in the order of `_places`
    variant: int  # of the changes that are possible there
    first: int  # the place's lines
    last: int
    name: str  # for people, and in the list of those explained: without numbers of lines


class _Place(NamedTuple):
    parent: ast.AST
    field: str
    index: int | None  # in a list
    node: ast.AST
    scope: str


def mutants_of(path: str) -> list[Mutant]:
    """Return all changes to a module."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = []
    same: Counter[str] = Counter()
    for number, place in enumerate(_places(tree, "")):
        for variant, other in enumerate(_variants(place.node)):
            name = f"{path} {place.scope or '-'}: {_written(place.node)} -> {_written(other)}"
            same[name] += 1
            if same[name] > 1:
                name += f" #{same[name]}"
            lines = getattr(place.node, "lineno", 0), getattr(place.node, "end_lineno", 0)
            found.append(Mutant(path, number, variant, *lines, name))
    return found


def changed(mutant: Mutant) -> ast.Module:
    """Return the module with the change."""
    tree = ast.parse((ROOT / mutant.path).read_text(encoding="utf-8"))
    for number, place in enumerate(_places(tree, "")):
        if number == mutant.number:
            node = _variants(place.node)[mutant.variant]
            if place.index is None:
                setattr(place.parent, place.field, node)
            else:
                getattr(place.parent, place.field)[place.index] = node
            break
    return ast.fix_missing_locations(tree)


def _places(node: ast.AST, scope: str) -> Iterator[_Place]:
    """Yield what stands below a node and can be changed, in the order of the text."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        scope = f"{scope}.{node.name}".lstrip(".")
    for field, value in ast.iter_fields(node):
        if field in _TYPES:
            continue
        below = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, child in below:
            if isinstance(child, ast.AST) and not _is_for_people(child):
                yield _Place(node, field, index, child, scope)
                yield from _places(child, scope)


def _is_for_people(node: ast.AST) -> bool:
    """Return True for what no test should look at: docstrings, messages, what only types need."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.JoinedStr() | ast.Assert():
            return True
        case ast.Constant(value=str(text)):
            return " " in text.strip() and text.strip()[0].isalpha()
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Import() | ast.ImportFrom():
            return True
        case ast.Assign(targets=[ast.Name(id="__all__" | "__slots__")]):
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in _NOTHING_TO_TEST
    return False


def _variants(node: ast.AST) -> list[ast.AST]:
    """Return what may stand in the place of a node."""
    if isinstance(node, ast.expr):
        return [*_of_expression(node)]
    if isinstance(node, ast.stmt):
        return [*_of_statement(node)]
    return []


def _of_statement(node: ast.stmt) -> Iterator[ast.AST]:
    match node:
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign():
            yield ast.copy_location(ast.Pass(), node)
        case ast.Return(value=ast.expr() as value) if not _is_constant(value):
            yield ast.copy_location(ast.Return(ast.Constant(None)), node)
        case ast.Continue():
            yield ast.copy_location(ast.Break(), node)
        case ast.Break():
            yield ast.copy_location(ast.Continue(), node)
        case ast.If() | ast.While() if not isinstance(node.test, ast.Compare | ast.UnaryOp):
            other = copy.copy(node)
            other.test = ast.UnaryOp(ast.Not(), node.test)
            yield other


def _of_expression(node: ast.expr) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(ops=[first, *rest]) if type(first) in _COMPARED:
            yield ast.Compare(node.left, [_COMPARED[type(first)](), *rest], node.comparators)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(op=op) if type(op) in _COMPUTED:
            yield ast.BinOp(node.left, _COMPUTED[type(op)](), node.right)
        case ast.IfExp():
            yield node.body
            yield node.orelse
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=[], keywords=[]):
            if name in _TEXT_METHODS:
                yield value
        case ast.Constant(value=value):
            yield from _of_constant(value)


def _of_constant(value: object) -> Iterator[ast.AST]:
    match value:
        case bool():
            yield ast.Constant(not value)
        case int() | float():
            yield ast.Constant(value + 1)
        case str():
            yield ast.Constant(f"{value}X")
        case bytes():
            yield ast.Constant(value + b"X")


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _written(node: ast.AST) -> str:
    """Return a node's text, in one line; of a block, the head."""
    text = ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).partition("\n")[0]
    return text if len(text) <= 90 else f"{text[:87]}..."

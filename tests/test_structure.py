"""The tree: one name for one thing, rooms instead of flat folders, and nothing private borrowed."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [path for top in ("canon", "storage", "crawler") for path in (ROOT / top).rglob("*.py")]
MODULES = [path for path in FILES if path.stem not in {"__init__", "__main__"}]
ROOMS = [path.parent for path in FILES if path.stem == "__init__"]
SMALL = 60  # lines of a module that one other needs, and nobody else


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    """Parse all files."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def name_of(path: Path) -> str:
    """Return a path as people write it."""
    return path.relative_to(ROOT).as_posix()


def _dotted(path: Path) -> str:
    """Return the name of a module."""
    return "canonry." + name_of(path).removesuffix(".py").replace("/", ".")


def several(places: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the names that stand in several places, with these."""
    return {name: found for name, found in places.items() if len(found) > 1}


def imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each name that a module imports from another, with that module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.module is not None
            yield from ((node.module, alias.name) for alias in node.names)


def types_of(tree: ast.Module) -> Iterator[str]:
    """Yield the public classes and aliases of types that a module defines: ``LikeThis``."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        else:
            continue
        yield from (name for name in names if name[0].isupper() and not name.isupper())


def is_private(dotted: str) -> bool:
    """Return True if a part of a dotted name begins with a single underscore."""
    return any(part.startswith("_") and not part.startswith("__") for part in dotted.split("."))


def test_there_is_something_to_look_at(trees: dict[Path, ast.Module]) -> None:
    assert len(MODULES) > 80
    assert len(ROOMS) > 15
    assert sum(len(list(imported(tree))) for tree in trees.values()) > 500


def test_no_two_modules_have_one_name() -> None:
    places = defaultdict(list)
    for path in MODULES:
        places[path.stem].append(name_of(path))
    assert several(places) == {}


def test_no_two_public_types_have_one_name(trees: dict[Path, ast.Module]) -> None:
    places = defaultdict(list)
    for path, tree in trees.items():
        for name in types_of(tree):
            places[name].append(name_of(path))
    assert several(places) == {}


def test_no_module_is_hidden_by_a_name_of_its_package(trees: dict[Path, ast.Module]) -> None:
    """``from canonry.canon import resolve`` has to mean one thing."""
    for room in ROOMS:
        tree = trees[room / "__init__.py"]
        package = "canonry." + name_of(room).replace("/", ".")
        below = {path.stem for path in FILES if path.parent == room}
        below |= {path.name for path in ROOMS if path.parent == room}
        names = {name for module, name in imported(tree) if module != package}
        names |= {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        assert names.isdisjoint(below), room


def test_a_room_says_in_a_sentence_what_it_is_for(trees: dict[Path, ast.Module]) -> None:
    for room in ROOMS:
        said = (ast.get_docstring(trees[room / "__init__.py"]) or "").partition("\n\n")[0]
        assert said.endswith("."), room
        assert room.parent == ROOT or ". " not in said.replace("\n", " "), room


def test_what_one_neighbour_alone_needs_is_in_it_unless_it_is_large(
    trees: dict[Path, ast.Module],
) -> None:
    """One that is imported late is on its own, since it needs what may be missing."""
    importers = defaultdict(set)
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in ["", *(f".{one.name}" for one in node.names)]:
                    importers[node.module + name].add(path)
    small = {
        name_of(path)
        for path in MODULES
        if len(path.read_text(encoding="utf-8").splitlines()) < SMALL
        and [by.parent for by in importers[_dotted(path)] if by.stem != "__init__"] == [path.parent]
    }
    assert small == set()


def test_nothing_private_is_imported_but_the_kernels(trees: dict[Path, ast.Module]) -> None:
    private = {
        (name_of(path), module)
        for path, tree in trees.items()
        for module, name in imported(tree)
        if is_private(f"{module}.{name}")
    }
    assert private == {
        ("canon/pipeline/native.py", "canonry.canon.pipeline._kernel"),
        ("crawler/documents/page_scan.py", "canonry.crawler.documents"),
        ("crawler/batch/key_set.py", "canonry.crawler.batch"),
    }


def test_tests_mirror_the_rooms() -> None:
    """A test stands in the folder that the code under test stands in."""
    folders = {path.parent for path in (ROOT / "tests").rglob("test_*.py")}
    rooms = {ROOT / "tests" / room.relative_to(ROOT) for room in ROOMS}
    of_all = {"tests", "tests/docs", "tests/simulation"}
    assert folders - rooms == {ROOT / folder for folder in of_all}

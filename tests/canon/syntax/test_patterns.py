"""Possessive groups match as they should, also under the Python of Debian 12."""

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.canon.syntax import compile_pattern, patterns
from canonry.crawler.documents import tokenizer

PAGES = st.lists(
    st.sampled_from(
        ["<a ", "href=", "x", ">", "'", '"', "/", "</a>", "<!--", "-->", "<p>", "rel=y ", "=", " "]
    ),
    max_size=12,
).map("".join)

# Compiles everything that is compiled on import, and a part of what is compiled on use. Prints the
# files that give a possessive group to re.compile themselves.
SCAN = """
import importlib, pkgutil, re, re._compiler as compiler, re._parser as parser, sys
from pathlib import Path
import canonry.canon.syntax.patterns as ours

plain, done = compiler.compile, []
def compile(pattern, flags=0):
    caller = sys._getframe(1)
    while "/re/" in caller.f_code.co_filename:
        caller = caller.f_back
    if isinstance(pattern, (str, bytes)):  # not parsed already
        done.append((caller.f_code.co_filename, pattern, flags))
    return plain(pattern, flags)
compiler.compile = compile

re.purge()
sys.modules.pop("canonry")
for name in [name for name in sys.modules if name.startswith("canonry.") and name != ours.__name__]:
    del sys.modules[name]
import canonry
for found in pkgutil.walk_packages(canonry.__path__, "canonry."):
    if found.name.startswith(("canonry.canon", "canonry.storage", "canonry.crawler.")):
        if not found.name.endswith("__main__") and ".adapters" not in found.name:
            try:
                importlib.import_module(found.name)
            except ModuleNotFoundError as error:  # of an extra
                if error.name.startswith("canonry"):
                    raise
canonry.matches("URI", "http://a/")
for policy in ("web", "search", "rfc3986"):
    canonry.Canonicalizer(policy)("http://a/%7e")
from canonry.crawler.documents.by_type import read_document
read_document(b"<a href=x>", {"Content-Type": "text/html"}, "http://a.example/")

def possessive(tree):
    for part in ours._parts_of(tree, parser.SubPattern):
        for operation, operand in part.data:
            if operation is parser.POSSESSIVE_REPEAT and not compiler._simple(operand[2]):
                return True
    return False

groups = [file for file, pattern, flags in done if possessive(parser.parse(pattern, flags))]
print(len(groups), sorted({Path(file).name for file in groups}))
"""


@pytest.mark.parametrize(
    ("pattern", "text"), [("(?:ab?c)*+", "a"), ("(?:ab?c){0,2}+", "a"), ("(?:(?!C).)++", "ABC")]
)
def test_what_a_greedy_group_does_not_match(pattern: str, text: str) -> None:
    assert compile_pattern(pattern).fullmatch(text) is None


@given(PAGES)
def test_an_atomic_group_matches_as_a_possessive_one_should(page: str) -> None:
    # The pattern that needs it the most.
    plain = tokenizer._pattern(frozenset({b"a", b"p"}), xml=False)  # noqa: SLF001
    if plain.pattern is None:
        pytest.skip("this Python is wrong about possessive groups")
    mended = patterns._mended(plain.pattern, plain.flags)  # noqa: SLF001 - what old Pythons use
    text = page.encode()
    for one, other in zip(plain.finditer(text), mended.finditer(text), strict=True):
        assert (one.span(), one.groups()) == (other.span(), other.groups())


def test_possessive_groups_are_compiled_in_one_place() -> None:
    run = [sys.executable, "-c", SCAN]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    if patterns._IS_WRONG:  # noqa: SLF001 - then it parses them itself
        assert done.stdout == "0 []\n"
    else:
        count, files = done.stdout.split(" ", 1)
        assert files == "['patterns.py']\n"
        assert int(count) > 15


def test_flags_and_names_are_kept() -> None:
    mended = patterns._mended(r"(?x) (?P<name> (?:ab?)*+ ) # all", re.IGNORECASE)  # noqa: SLF001
    found = mended.fullmatch("ABa")
    assert found is not None
    assert found.groupdict() == {"name": "ABa"}

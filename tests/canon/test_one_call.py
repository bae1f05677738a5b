"""The functions for one question: are these two the same, at which rung, and why?"""

from pathlib import Path

import pytest
from click.testing import CliRunner

import canonry
from canonry.crawler.cli.commands import main

MINE = """\
name = "mine"
version = 1
extends = "web@1"

[remove]
practice = ["tracking"]
"""


def test_same_is_equal_keys_under_a_policy() -> None:
    one, other = "http://example.com/a?utm_source=mail#x", "HTTP://EXAMPLE.com:80/a"
    assert canonry.same(one, other)
    assert canonry.same(one.encode(), other)
    assert not canonry.same(one, other, policy="rfc3986")
    assert not canonry.same("http://example.com/a", "http://example.com/A")
    assert canonry.same("../b", "/b", base="http://example.com/a/c")
    with pytest.raises(canonry.InvalidURL):
        canonry.same(one, "http://exa mple.com:x/")
    with pytest.raises(canonry.PolicyError):
        canonry.same(one, other, policy="nothing")


def test_rungs_are_those_that_a_trace_shows() -> None:
    one, other = "http://example.com/a?utm_source=mail", "http://example.com/a"
    for rung in canonry.Rung:
        expected = rung is canonry.Rung.PRACTICE
        assert canonry.equivalent(one, other, rung=rung) is expected
        name = rung.name.lower()
        assert canonry.equivalent(one, other, rung=name) is expected  # type: ignore[arg-type]
    for step in canonry.Canonicalizer().explain(one + "#top").steps:
        assert isinstance(canonry.equivalent(one, other, rung=step.rung), bool)
    with pytest.raises(ValueError, match="unknown rung 'top'; allowed: string, repair, syntax"):
        canonry.equivalent(one, other, rung="top")  # type: ignore[arg-type]


def test_a_policy_may_be_a_path(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(MINE, encoding="utf-8")
    make = canonry.Canonicalizer(file)
    assert make.policy.label == "mine/1"
    assert (
        make.identity("http://example.com/a?utm_source=x#y") == "http://example.com/a?utm_source=x"
    )
    with pytest.raises(canonry.PolicyError, match=r"none\.toml: cannot be read: No such file"):
        canonry.Canonicalizer(tmp_path / "none.toml")
    file.write_text("name = 3\n", encoding="utf-8")
    with pytest.raises(canonry.PolicyError, match=r"mine\.toml"):
        canonry.Canonicalizer(file)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/a/../b?utm_source=x#top",
        "https://example.com/",
        "http://user:secret@example.com/a[1]",
        "http://example.com/[red]a[/red]",
    ],
)
def test_a_trace_prints_as_the_command_does(url: str) -> None:
    printed = CliRunner().invoke(main, ["explain", url]).stdout
    assert f"{canonry.Canonicalizer().explain(url)}\n" == printed


def test_only_public_names_are_listed() -> None:
    names = dir(canonry)
    assert {"same", "canonicalize", "Canonicalizer", "Rung", "__version__", "canon"} <= set(names)
    assert not [name for name in names if name.startswith("_") and name != "__version__"]
    assert not {"import_module", "TYPE_CHECKING"} & set(names)

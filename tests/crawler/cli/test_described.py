"""What every command has: examples that can be typed, 80 columns, completion."""

import re
import shlex
from collections.abc import Iterator

import click
import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

from canonry.crawler.cli.commands import EXAMPLES, main
from canonry.crawler.cli.described import Described

_OF_SHELLS = {"<", ">", "|"}


def every(group: click.Group, *before: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield all commands, each with its words; groups, too."""
    yield before, group
    context = click.Context(group)
    for name in group.list_commands(context):
        below = group.get_command(context, name)
        assert below is not None
        if isinstance(below, click.Group):
            yield from every(below, *before, name)
        else:
            yield (*before, name), below


EVERY = list(every(main))


def parse(example: str) -> tuple[str, ...]:
    """Parse an example as the command does, without running it; return the words before options."""
    if example.startswith("eval "):
        example = example.partition("$(")[2].rstrip(')"')
    words = shlex.split(example)
    assert words.pop(0) == "canonry"
    for place, word in enumerate(words):
        if word in _OF_SHELLS:
            del words[place:]
            break
    command: click.Command = main
    names = []
    while isinstance(command, click.Group):
        names.append(words.pop(0))
        below = command.get_command(click.Context(command), names[-1])
        assert below is not None, example
        command = below
    command.make_context(names[-1], words)
    return tuple(names)


def test_every_command_has_examples_that_can_be_typed() -> None:
    assert len(EVERY) > 40
    for words, command in EVERY:
        if isinstance(command, click.Group):
            continue
        assert isinstance(command, Described), words
        assert command.examples, words
        for example in command.examples:
            assert parse(example) == words, example
    for example in EXAMPLES:
        assert parse(example)
    with pytest.raises(click.UsageError):
        parse("canonry status --nonsense")


@pytest.mark.parametrize("words", [words for words, _command in EVERY], ids=" ".join)
def test_80_columns_are_enough_for_every_help(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, [*words, "--help"], env={"COLUMNS": "80"})
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert re.search(r"^Examples:\n  .*canonry ", done.stdout, re.MULTILINE)
    assert not re.search(r"^  [a-z-]+  .*[.]{3}$", done.stdout, re.MULTILINE), "a sentence is cut"
    assert re.search(r"^  -q, --quiet ", done.stdout, re.MULTILINE)


def test_help_uses_the_width_that_it_gets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    main.main(["crawl", "--help"], standalone_mode=False)
    assert 120 < max(map(len, capsys.readouterr().out.splitlines())) <= 140


@pytest.mark.parametrize(("typed", "near"), [("statsu", "status"), ("rules revok", "revoke")])
def test_a_misspelled_command_gets_the_one_that_is_near(typed: str, near: str) -> None:
    done = CliRunner().invoke(main, typed.split())
    assert (done.exit_code, f"(did you mean {near}?)." in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("canonry cra", "plain,crawl"),
        ("canonry rules rev", "plain,revoke"),
        ("canonry crawl --max-p", "plain,--max-pages"),
        ("canonry crawl --scope pre", "plain,prefix"),
        ("canonry crawl --policy sea", "plain,search"),
        ("canonry crawl --policy ./m", "file,./m"),
        ("canonry status --store cr", "file,cr"),
        ("canonry crawl --warc ar", "dir,ar"),
        ("canonry dedup ur", "file,ur"),
    ],
)
def test_shells_complete_names_and_values(
    typed: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    assert BashComplete(main, {}, "canonry", "_CANONRY_COMPLETE").complete() == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_asks_for_what_click_answers(shell: str) -> None:
    done = CliRunner().invoke(main, ["completion", shell])
    assert done.exit_code == 0
    assert f"_CANONRY_COMPLETE={shell}_complete" in done.stdout
    assert "_canonry_completion" in done.stdout


def test_the_default_policy_comes_from_what_a_command_can_read() -> None:
    """The help names the store, the rules and the file of keys only where there are such."""
    helped = 0
    for words, command in every(main):
        names = {parameter.name for parameter in command.params}
        for option in command.params:
            if not (isinstance(option, click.Option) and option.name == "policy"):
                continue
            _, _, default = str(option.help).partition("[default: ")
            helped += bool(default)
            for said, needed in (("store", "store"), ("--seen", "seen")):
                assert (said in default) <= (needed in names), (words, default)
            if "rules" in default:
                assert {"rules_file", "file"} & names, (words, default)
    assert helped > 8

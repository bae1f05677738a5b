"""The settings of learning: a file of one's own overrides some, and its faults are named."""

from pathlib import Path

import pytest

from canonry.canon.learned import Rewrite
from canonry.crawler.learn.decision import needed_for
from canonry.crawler.settings import SettingsError
from canonry.crawler.settings.learning_settings import defaults, load

REF = Rewrite("h.example", "parameter-anywhere", old="ref")
PAGE = Rewrite("h.example", "parameter-anywhere", old="page")


def test_without_a_file_there_are_the_defaults() -> None:
    assert load() == defaults()
    assert needed_for(REF, load()).content == 16
    assert needed_for(PAGE, load()).content == 25


def test_keys_that_a_file_leaves_out_keep_their_defaults(tmp_path: Path) -> None:
    file = tmp_path / "learning.toml"
    file.write_text("[needed.parameter]\ncontent = 40\n[tests]\nbase = 9\n")
    found = load(str(file))
    assert needed_for(REF, found) == defaults().needed.parameter.__class__(own_word=8, content=40)
    assert found.tests.base == 9
    assert found.decision == defaults().decision


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[family.www]\nfloor = 3", "no section [family]"),
        ("[tests]\nchance = 3", "[tests]"),
        ("[tests]\nodds = 0.5", "odds"),
        ("needed = 3", "no section"),
        ("[needed", "not TOML"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "learning.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as raised:
        load(str(file))
    assert str(file) in str(raised.value)
    assert says in str(raised.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="give a file that can be read"):
        load(str(tmp_path))

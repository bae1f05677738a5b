"""What users get wrong: each is told in a few lines, with its exit code, without a traceback."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.permissions import as_a_plain_user

from canonry.crawler.cli.commands import main

SEED = "crawl http://127.0.0.1:1/"
# Each is tried with a name that is missing, a folder, an empty file, noise, and no name at all.
READING = (
    "extract {}",
    "dedup {}",
    "dedup urls.txt --rules {}",
    "dedup urls.txt --policy {}.toml",
    "dedup urls.txt --seen {} -o /dev/null",
    "canon http://a.example/ --rules {}",
    "canon http://a.example/ --base {}",
    "canon http://a.example/ --store {}",
    "keys info {}",
    "keys diff {} {}",
    "keys to-store {} --store k.db",
    "keys from-store -o k.keys --store {}",
    "migrate {} --from surt",
    "policy check {}.toml",
    "policy show {}",
    "rules import {}",
    "rules convert {}",
    "rules mine {}",
    "rules show {}",
    "status --store {}",
    "hosts block a.example --store {}",
    "patterns exclude {}",
    "refused list --store {}",
    "upgrade --policy web --store {}",
    f"{SEED} --config {{}}",
    f"{SEED} --cookies {{}}",
    f"{SEED} --ca-file {{}}",
    "scope test http://a.example/ --config {}",
)
WRITING = (
    "dedup urls.txt -o {}",
    "dedup urls.txt --map {}",
    "dedup urls.txt --report {}",
    "export urls -o {}",
    "keys from-store -o {}",
    "migrate urls.txt --from surt -o {}",
    "rules export -o {}",
)
WRONG = (
    ("dedup urls.txt --memory much", 2),
    ("dedup urls.txt --column nope", 2),
    ("export clusters --since junk", 1),
    ("export urls --since start", 2),
    ("hosts list --limit 0", 2),
    ("hosts list --sort moon", 2),
    ("keys diff a b --only both", 2),
    ("serve --port 99999", 2),
    ("status --store postgresql://u:p@127.0.0.1:1/x", 1),
    ("hosts list --store postgresql://127.0.0.1:1/x", 1),
    ("why http://a.example/ --store mysql://h/x", 2),
    (f"{SEED} --store postgresql://127.0.0.1:1/x", 1),
    (f"{SEED} --header x", 2),
    (f"{SEED} --config crawl.workers=0", 2),
    (f"{SEED} --config crawl.recrawl_after=soon", 2),
    (f"{SEED} --serve x", 2),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.toml").mkdir()
    for name in ("empty", "empty.toml"):
        (tmp_path / name).touch()
    for name in ("noise", "noise.toml"):
        (tmp_path / name).write_bytes(bytes(n * 37 % 251 for n in range(2000)))
    (tmp_path / "urls.txt").write_text("http://a.example/\n")
    return tmp_path


def problems(lines: list[str], codes: set[int]) -> Iterator[str]:
    """Run commands; yield what is wrong with how they fail."""
    for line in lines:
        words = ["" if word == "''" else word for word in line.split()]
        done = CliRunner().invoke(main, words, input="")
        said = done.stderr.strip()
        if not isinstance(done.exception, SystemExit | None):
            yield f"{line}: {done.exception!r}"
        elif done.exit_code not in codes:
            yield f"{line}: exit code {done.exit_code}, {said}"
        elif done.exit_code and not said:
            yield f"{line}: fails silently"
        elif "[Errno" in said or "sqlalche.me" in said or "Traceback" in said:
            yield f"{line}: {said}"
        elif done.exit_code and len(said.splitlines()) > 4:
            yield f"{line}: many lines: {said}"


@pytest.mark.parametrize("given", ["missing", "folder", "empty", "noise", "''", "no/such/x"])
def test_what_cannot_be_read(folder: Path, given: str) -> None:
    """Some of these can: an empty text has no URLs, and noise has lines that are none."""
    assert folder.exists()
    codes = {0, 1, 2} if given in {"empty", "noise", "missing", "''"} else {1, 2}
    found = list(problems([line.format(given, given) for line in READING], codes))
    assert [one for one in found if "no line is a URL" not in one] == []  # a summary follows


@pytest.mark.parametrize("given", ["folder", "''", "no/such/x"])
def test_what_cannot_be_written(folder: Path, given: str) -> None:
    assert folder.exists()
    CliRunner().invoke(main, ["dedup", "urls.txt", "--store", "canonry.db"])
    assert list(problems([line.format(given) for line in WRITING], {1, 2})) == []


def test_what_may_not_be_read(folder: Path) -> None:
    for name in ("empty", "empty.toml"):
        (folder / name).chmod(0)
    with as_a_plain_user():
        lines = [line.format("empty", "empty") for line in READING]
        assert list(problems([line for line in lines if "--base" not in line], {1, 2})) == []


def test_wrong_usage_has_its_exit_code(folder: Path) -> None:
    CliRunner().invoke(main, ["dedup", str(folder / "urls.txt"), "--store", "canonry.db"])
    for line, code in WRONG:
        assert list(problems([line], {code})) == []

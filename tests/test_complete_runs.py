"""Where every test has to run, one that is skipped for want of something fails."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
OPTIONS = ["-rs", "-p", "no:cacheprovider", "-c", os.devnull, "--continue-on-collection-errors"]
ONE = """
import pytest
def test_with_something_missing():
    pytest.skip("needs a thing")
def test_that_has_nothing_to_say():
    pytest.skip("one is enough")
"""
WHOLE = """
import pytest
pytest.importorskip("no_such_thing", reason="needs no_such_thing")
"""
IMPORTING = """
import no_such_package.part
"""
LAZY = """
def test_that_imports_what_is_missing():
    import no_such_package
def test_that_imports_what_is_wrong():
    from canonry import no_such_name
"""


def run_tests(folder: Path, complete: str, **files: str) -> str:
    """Run files of tests with the conftest of all tests; return what pytest says."""
    shutil.copy(TESTS / "conftest.py", folder)
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, "--rootdir", str(folder), str(folder)],
        env={**os.environ, "CANONRY_TEST_COMPLETE": complete, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize("complete", ["", "1"])
def test_what_is_missing_is_skipped_or_a_failure(tmp_path: Path, complete: str) -> None:
    """A name that a module of our own has not is a failure in any run."""
    said = run_tests(tmp_path, complete, one=ONE, whole=WHOLE, importing=IMPORTING, lazy=LAZY)
    if complete:
        assert "3 failed, 1 skipped, 2 errors" in said
        assert "needs a thing; with CANONRY_TEST_COMPLETE every test has to run" in said
        assert "needs no_such_thing; with CANONRY_TEST_COMPLETE" in said
        assert said.count("needs no_such_package; with CANONRY_TEST_COMPLETE") >= 2
    else:
        assert "1 failed, 5 skipped" in said
        assert "needs a thing" in said
        assert said.count(": needs no_such_package") == 2
    assert "cannot import name 'no_such_name'" in said

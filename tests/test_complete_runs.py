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


@pytest.mark.parametrize("complete", ["", "1"])
def test_what_is_missing_is_skipped_or_a_failure(tmp_path: Path, complete: str) -> None:
    shutil.copy(TESTS / "conftest.py", tmp_path)
    (tmp_path / "test_one.py").write_text(ONE, encoding="utf-8")
    (tmp_path / "test_whole.py").write_text(WHOLE, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, "--rootdir", str(tmp_path), str(tmp_path)],
        env={**os.environ, "CANONRY_TEST_COMPLETE": complete, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = done.stdout
    if complete:
        assert "1 failed, 1 skipped, 1 error" in said
        assert "needs a thing; with CANONRY_TEST_COMPLETE every test has to run" in said
        assert "needs no_such_thing; with CANONRY_TEST_COMPLETE" in said
    else:
        assert "3 skipped" in said
        assert "needs a thing" in said

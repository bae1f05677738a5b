"""The examples of docs/how-to/frames.md run."""

import doctest
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/how-to/frames.md").read_text(encoding="utf-8")


def test_the_examples_run() -> None:
    for package in ("datasette", "duckdb", "pandas", "polars", "pyarrow", "sqlite_utils"):
        pytest.importorskip(package, reason=f"needs {package}")
    examples = doctest.DocTestParser().get_doctest(PAGE, {}, "frames.md", None, 0)
    assert len(examples.examples) > 20
    report: list[str] = []
    result = doctest.DocTestRunner().run(examples, out=report.append)
    assert result.failed == 0, "".join(report)

"""Ray Data, over the function that docs/how-to/frames.md shows."""

import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

ray = pytest.importorskip("ray", exc_type=ImportError)
pytest.importorskip("ray.data", exc_type=ImportError)

# Ray warns of its own settings.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "frames.md"


def test_the_page_counts_resources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    urls = ["HTTP://A.example", "http://a.example/", "http://b.example/", "x"] * 500
    folder = tmp_path / "links"
    folder.mkdir()
    for n in range(4):
        parquet.write_table(
            pa.table({"url": urls[n * 500 : n * 500 + 500]}), folder / f"{n}.parquet"
        )
    [example] = re.findall(
        r"```python\n(import ray.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    monkeypatch.chdir(tmp_path)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        scope: dict[str, object] = {}
        exec(example, scope)  # noqa: S102 - our own page
        counted = scope["resources"]
        assert sorted(row["count()"] for row in counted.take_all()) == [500, 1000]
    finally:
        ray.shutdown()

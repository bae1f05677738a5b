"""Tests of the store never take the database of the test before, and leave a whole one."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.stores import faults_of

from canonry.storage import StoreError
from canonry.storage.reading import report


@pytest.fixture(autouse=True)
def _database(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[None]:
    """Choose the database of each test; a store that it leaves refers to nothing that is gone."""
    yield
    file = tmp_path / "store.db"
    if database == "sqlite" and file.exists() and "sql" not in request.path.parts:
        with suppress(StoreError), report.reading(str(file)) as connection:  # some are no stores
            assert faults_of(connection) == []

"""Tests of the store never take the database of the test before."""

import pytest


@pytest.fixture(autouse=True)
def _database(database: str) -> None:
    """Choose the database of each test, also of those that do not ask for one."""

"""Where crawls of the tests keep their store, and what they are compared with."""

from pathlib import Path

import pytest
from support import databases
from support.sites import crawl_words, demo_site, pages_of, run_command


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, int]]:
    """Return the pages of a crawl that was left alone."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with demo_site() as served:
        done = run_command(*crawl_words(served), folder=folder)
    assert done.returncode == 0, done.stderr
    return pages_of(folder)


@pytest.fixture
def store_words(tmp_path: Path, database: str) -> list[str]:
    """Return the words that name a test's store: none for the default one, in its folder."""
    return [] if database == "sqlite" else ["--store", databases.url_of(tmp_path)]

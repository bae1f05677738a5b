"""What tests of crawls compare with."""

import pytest
from support.sites import crawl_words, demo_site, pages_of, run_command


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, int]]:
    """Return the pages of a crawl that was left alone."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with demo_site() as served:
        done = run_command(*crawl_words(served), folder=folder)
    assert done.returncode == 0, done.stderr
    return pages_of(folder)

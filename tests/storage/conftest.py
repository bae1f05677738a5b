"""The promises of the store hold on every database: these tests run on each."""

from collections.abc import Iterator

import pytest
from support import databases

_BOTH = {
    "test_store",
    "test_seen",
    "test_classes",
    "test_equivalences",
    "test_migrations",
    "test_transitions",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the store's tests once for each database, but for those about one of them."""
    only_one = metafunc.definition.get_closest_marker("sqlite") is not None
    if metafunc.module.__name__.rpartition(".")[2] in _BOTH:
        names = ["sqlite"] if only_one else ["sqlite", "postgresql"]
        metafunc.parametrize("database", names, indirect=True)


@pytest.fixture(autouse=True)
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Make a database the one that `databases.url_of` names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(databases.SERVER, raising=False)
        name = getattr(request, "param", "sqlite")
        if name == "postgresql":
            patch.setenv(databases.SERVER, request.getfixturevalue("server"))
            patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
        yield name

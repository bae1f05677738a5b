"""What the whole suite shares: how hard Hypothesis tries, and one PostgreSQL server."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from support import databases

# A shell's background jobs ignore Ctrl-C, and so would all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "canonry",
    max_examples=1000,
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# For a long look: pytest --hypothesis-profile=hard
settings.register_profile("hard", settings.get_profile("canonry"), max_examples=50_000)
settings.load_profile("canonry")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run one PostgreSQL for all tests that want it."""
    with databases.server(tmp_path_factory.mktemp("postgresql")) as uri:
        yield uri

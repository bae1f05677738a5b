"""What the whole suite shares: how hard Hypothesis tries, markers by cause, databases."""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from support import compiled, databases, sites
from support.forking import Fork

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# A shell's background jobs ignore SIGINT, and the processes that tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
# The readline library sets two of these for processes that it knows to be without a terminal. The
# third hides what happens to output that cannot be written. The fourth makes each process compile
# all that it imports.
for name in ("COLUMNS", "LINES", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"):
    os.environ.pop(name, None)
sys.dont_write_bytecode = False

compiled.share()

settings.register_profile(
    "canonry",
    max_examples=100,
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# For a long look: pytest --hypothesis-profile=hard
settings.register_profile("hard", settings.get_profile("canonry"), max_examples=50_000)
# For a short one, as in make test-fast
settings.register_profile("fast", settings.get_profile("canonry"), max_examples=50)
settings.load_profile("canonry")

# An environment variable: set, a test that is skipped because something is missing fails.
_COMPLETE = "CANONRY_TEST_COMPLETE"
_MISSING = "Skipped: needs "  # how the reason of such a skip begins

_BY_FIXTURE = {
    "browser": "browser",
    "oldest_server": "postgresql",
    "server": "postgresql",
    "undisturbed": "processes",
}
# How long tests with a marker take, and laws, against others.
_WEIGHTS = {"browser": 5, "kills": 60, "processes": 8, "postgresql": 5, "slow": 20}
_WEIGHT_OF_A_LAW = 3
_CRAWLS = {"follow": 30, "crawl": 6}  # by names of functions: nights, and crawls in this process
_FIRST_DOWNLOAD = 600  # seconds: the first test with a browser may have to fetch it
# The fixtures of the servers, by the kinds of databases that tests name.
_SERVERS = {"postgresql": "server", databases.OLDEST: "oldest_server"}
# Rooms whose tests of all databases are those of our SQL: they run on the oldest PostgreSQL, where
# that is installed, and some on the newest, too. All other rooms run on the newest.
_OF_SQL = ("tests/storage/", "tests/crawler/frontier/")
_ON_BOTH = "tests/storage/test_store.py"
_STARTERS = (subprocess, multiprocessing, Fork, sites.run_command, sites.start)
_SIGNALS = frozenset({"kill", "send_signal", "terminate"})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what makes them slow, so that nobody has to remember it."""
    for item in items:
        if isinstance(item, pytest.Function):
            for marker in _causes(item):
                item.add_marker(marker)
            if "browser" in item.fixturenames:
                item.add_marker(pytest.mark.timeout(_FIRST_DOWNLOAD))
    weights: Counter[Path] = Counter()
    for item in items:
        weights[item.path] += 0.1 + sum(_WEIGHTS.get(mark.name, 0) for mark in item.iter_markers())
        if isinstance(item, pytest.Function):
            weights[item.path] += _WEIGHT_OF_A_LAW * hasattr(item.function, "hypothesis")
            weights[item.path] += max(_CRAWLS.get(name, 0) for name in ("", *_names_of(item)))
    # Files that take long go first: one that is started last keeps all others waiting.
    items.sort(key=lambda item: -weights[item.path])


def _causes(item: pytest.Function) -> set[str]:
    """Return the markers that a test earns by its fixtures, its parameters and its code."""
    found = {_BY_FIXTURE[name] for name in item.fixturenames if name in _BY_FIXTURE}
    if hasattr(item, "callspec") and item.callspec.params.get("database") in _SERVERS:
        found.add("postgresql")
    names = _names_of(item)
    if not _SIGNALS.isdisjoint(names):
        found.add("kills")
    if any(item.function.__globals__.get(name) in _STARTERS for name in names):
        found.add("processes")
    return found


def _names_of(item: pytest.Function) -> set[str]:
    """Return the names that a test uses."""
    test = getattr(item.function, "hypothesis", None)
    return _names_in(test.inner_test if test else item.function)


@cache
def _names_in(function: FunctionType) -> set[str]:
    """Return them; it is asked for once for each set of parameters."""
    return _names(function, set())


def _names(function: FunctionType, seen: set[FunctionType]) -> set[str]:
    """Return the names in a function's code and in the functions of its module that it calls."""
    seen.add(function)
    found = set()
    codes = [function.__code__]
    for code in codes:
        found.update(code.co_names)
        codes += [const for const in code.co_consts if isinstance(const, CodeType)]
    for name in found.copy():
        below = function.__globals__.get(name)
        own = isinstance(below, FunctionType) and below.__module__ == function.__module__
        if own and below not in seen:
            found |= _names(below, seen)
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that are marked so on every database, but for those about SQLite alone."""
    marked = metafunc.definition.get_closest_marker
    if marked("every_database"):
        where = metafunc.definition.nodeid
        names = ["sqlite"]
        if not marked("sqlite"):
            has_oldest = where.startswith(_OF_SQL) and databases.OLDEST_PROGRAMS.is_dir()
            names += [databases.OLDEST] if has_oldest else []
            names += ["postgresql"] if not has_oldest or where.startswith(_ON_BOTH) else []
        metafunc.parametrize("database", names, indirect=True)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test for what is missing, where all tests have to run.

    The time limit of a test stands still meanwhile: if it ended a report, the whole run would end.
    """
    left = signal.setitimer(signal.ITIMER_REAL, 0)
    report = yield
    signal.setitimer(signal.ITIMER_REAL, *left)
    _excuse(report, call)
    _insist(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Do the same for whole files."""
    report = yield
    _excuse(report, getattr(report, "call", None))
    _insist(report)
    return report


def _excuse(
    report: pytest.TestReport | pytest.CollectReport, call: pytest.CallInfo[Any] | None
) -> None:
    """Make a skip of what failed for want of a package, as after "make test-small"."""
    error = call.excinfo.value if call is not None and call.excinfo else None
    while error is not None and not isinstance(error, ImportError):
        error = error.__cause__
    package = (error.name or "").partition(".")[0] if error is not None else ""
    if report.failed and package and package != "canonry" and find_spec(package) is None:
        report.outcome = "skipped"
        report.longrepr = (report.nodeid.partition("::")[0], 0, f"{_MISSING}{package}")


def _insist(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Make a failure of a skip that is for want of something, in a complete run."""
    if (
        not report.skipped
        or not os.environ.get(_COMPLETE)
        or not isinstance(report.longrepr, tuple)
    ):
        return
    if report.longrepr[2].startswith(_MISSING):
        report.outcome = "failed"
        report.longrepr = f"{report.longrepr[2]}; with {_COMPLETE} every test has to run"


@pytest.fixture
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Make a database the one that `databases.url_of` names; SQLite, where a test asks for none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(databases.SERVER, raising=False)
        name: str = getattr(request, "param", "sqlite")
        if name in _SERVERS:
            patch.setenv(databases.SERVER, request.getfixturevalue(_SERVERS[name]))
            patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
        with databases.dropping():
            yield "postgresql" if name in _SERVERS else name


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Run one PostgreSQL for all tests that need it."""
    folder = Path(mkdtemp(prefix="canonry-", dir=databases.quick_folder()))
    with databases.server(folder) as uri:
        yield uri
    rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def oldest_server() -> Iterator[str]:
    """Run the oldest PostgreSQL that we support, where Debian's package is installed."""
    if not databases.OLDEST_PROGRAMS.is_dir():
        pytest.skip(
            f"needs PostgreSQL 15 in {databases.OLDEST_PROGRAMS}: apt install postgresql-15"
        )
    with databases.oldest_server() as uri:
        yield uri


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Run a Chromium for the tests of a file, which cannot use `asyncio.run` themselves."""
    from support.browsing import chromium  # noqa: PLC0415 - for few tests, and slow to import
    from support.browsing.npm_packages import UnavailableError  # noqa: PLC0415

    with ExitStack() as stack:
        try:
            found = stack.enter_context(chromium.running())
        except UnavailableError as error:
            pytest.skip(f"needs a Chromium: {error}")
        yield found

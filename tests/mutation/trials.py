"""Trials: run the tests that a change could break, in a process of their own."""

import hashlib
import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple

import pytest
from coverage import Coverage, CoverageData
from hypothesis import Phase, settings
from mutation.places import ROOT, Mutant, changed

_WORK = ROOT / "build" / "mutants"
_KERNEL = "canonry.canon.pipeline._kernel"
_OPTIONS = [
    "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist",
    "-W", "ignore::pytest.PytestAssertRewriteWarning",
    "-m", "not (browser or postgresql or spark or processes or kills)",
]  # fmt: skip
# How long the tests for one change may take, in seconds of a processor, without the change: those
# that run the changed lines, and others.
_MOST_SECONDS = 15.0
_MORE_SECONDS = 5.0
_MEMORY = 12 << 30
_PASSED, _FAILED = 0, 1


class Baseline(NamedTuple):
    """What the tests do without a change."""

    costs: dict[str, float]  # seconds of each test that passed
    modules: list[str]  # not ours, and imported by the tests
    lines: CoverageData  # which tests run a line


class Result(NamedTuple):
    """What became of a mutant: "killed", "survived" or "endless"."""

    mutant: Mutant
    outcome: str


class _Quick:
    """A plugin: few examples of each law, the same each time, and no time for smaller ones."""

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        fast = settings.get_profile("fast")
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", fast, derandomize=True, database=None, phases=phases)
        settings.load_profile("mutants")


class _Recorder:
    """A plugin that notes how long each test takes, and which lines it runs."""

    def __init__(self, measured: Coverage) -> None:
        self.measured = measured
        self.costs: dict[str, float] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.measured.switch_context(item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        start = time.process_time()  # others may be busy
        yield  # a test that fails or is skipped has no costs
        self.costs[item.nodeid] = time.process_time() - start


class _Chosen:
    """A plugin that keeps the given tests, in the given order."""

    def __init__(self, names: list[str]) -> None:
        self.order = {name: number for number, name in enumerate(names)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order),
            key=lambda item: self.order[item.nodeid],
        )


class _Finder:
    """Finds one module, and gives it other code than its file has."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        self.name = "canonry." + mutant.path.removesuffix(".py").replace("/", ".")
        self.name = self.name.removesuffix(".__init__")

    def find_spec(
        self, name: str, path: list[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self.name:
            return None
        spec = PathFinder.find_spec(name, path, target)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(name, spec.origin, self.mutant)
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, name: str, origin: str, mutant: Mutant) -> None:
        super().__init__(name, origin)
        self.mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        return compile(changed(self.mutant), self.get_filename(fullname), "exec")


def measure(tests: list[str], again: bool) -> Baseline:
    """Run tests without a change; with ``again``, read what the last such run found."""
    _WORK.mkdir(parents=True, exist_ok=True)
    name = hashlib.blake2b(repr(sorted(set(tests))).encode(), digest_size=8).hexdigest()
    notes, data = _WORK / f"{name}.json", _WORK / f"{name}.lines"
    if not again:
        data.unlink(missing_ok=True)
        _in_child(lambda: _measure(tests, notes, data), None)
    found = json.loads(notes.read_text(encoding="utf-8"))
    lines = CoverageData(str(data))
    lines.read()
    return Baseline(found["costs"], found["modules"], lines)


def _measure(tests: list[str], notes: Path, data: Path) -> int:
    tops = [str(ROOT / top) for top in ("canon", "storage", "crawler")]
    measured = Coverage(str(data), config_file=False, source=tops, branch=False)
    recorder = _Recorder(measured)
    measured.start()
    options = [option for option in _OPTIONS if option != "-x"]
    status = pytest.main([*options, *sorted(set(tests))], plugins=[_Quick(), recorder])
    measured.stop()
    measured.save()
    modules = [
        name
        for name, module in sorted(sys.modules.items())
        if not str(getattr(module, "__file__", None) or ROOT).startswith(str(ROOT))
    ]
    noted = {"costs": recorder.costs, "modules": modules}
    notes.write_text(json.dumps(noted), encoding="utf-8")
    return int(status)


def preload(baseline: Baseline) -> None:
    """Import what is not ours, so that no child has to."""
    for name in baseline.modules:
        with suppress(Exception):
            importlib.import_module(name)


def run(mutant: Mutant, baseline: Baseline) -> Result:
    """Run the tests that the change could break."""
    names = _chosen(mutant, baseline)
    limit = 20 + 5 * sum(baseline.costs[name] for name in names)
    status = _in_child(lambda: _try(mutant, names), limit)
    if os.WIFSIGNALED(status):
        return Result(mutant, "endless" if os.WTERMSIG(status) == signal.SIGXCPU else "killed")
    return Result(mutant, "survived" if os.WEXITSTATUS(status) == _PASSED else "killed")


def _try(mutant: Mutant, names: list[str]) -> int:
    sys.meta_path.insert(0, _Finder(mutant))
    files = sorted({name.partition("::")[0] for name in names})
    return int(pytest.main([*_OPTIONS, *files], plugins=[_Quick(), _Chosen(names)]))


def _chosen(mutant: Mutant, baseline: Baseline) -> list[str]:
    """Return the tests that may see a change: those that run its lines, the fastest first.

    What runs as a module is imported, such as a table, and what a function keeps in a cache, runs
    in one test and is seen by others. So the fastest of all other tests follow.
    """
    by_line = baseline.lines.contexts_by_lineno(str((ROOT / mutant.path).resolve()))
    lines = range(mutant.first, mutant.last + 1)
    direct = {name for line in lines for name in by_line.get(line, ())}
    near = sorted(baseline.costs, key=lambda name: baseline.costs[name])
    return [
        *_within(_MOST_SECONDS, [name for name in near if name in direct], baseline),
        *_within(_MORE_SECONDS, [name for name in near if name not in direct], baseline),
    ]


def _within(seconds: float, names: list[str], baseline: Baseline) -> Iterator[str]:
    """Yield names of tests until these take longer, together; one at least."""
    spent = 0.0
    for name in names:
        yield name
        spent += baseline.costs[name]
        if spent > seconds:
            break


def _in_child(work: Callable[[], int], limit: float | None) -> int:
    """Run in a forked process with limits on its processor time and memory; return its status."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    status = _FAILED
    try:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
        os.chdir(ROOT)
        sys.modules[_KERNEL] = None  # type: ignore[assignment]  # makes its import fail
        status = work()
    except BaseException:  # noqa: BLE001  # the parent must never go on in the child
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)

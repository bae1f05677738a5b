"""Break the code in one place at a time, on purpose: does a test see it?

``python tests/mutants.py canon/rules canon/syntax --sample 100`` runs first all tests that mirror
these rooms, and notes which lines each of them runs. Then it takes a random sample of the changes
that `mutation.places` knows, and for each starts a process that runs the tests of the changed
lines, the fastest first, until one fails. A change that no test sees is a survivor: a test is
missing, or
`tests/mutation/explained.txt` says why none can be written.

Nothing is written into the tree: the changed module exists in memory only. The compiled kernel is
switched off, because it would answer instead of the Python code. Tests that start processes,
databases or browsers are left out, as in ``make test-fast``.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from mutation.places import ROOT, Mutant, mutants_of
from mutation.trials import Baseline, Result, measure, preload, run

_KEPT = ROOT / "benchmarks" / "runs"
_EXPLAINED = Path(__file__).parent / "mutation" / "explained.txt"


def main() -> int:
    """Run the mutants; return the number of survivors that nothing explains."""
    given = _arguments()
    modules = sorted(
        path.relative_to(ROOT).as_posix() for room in given.rooms for path in _files(room)
    )
    print(f"{len(modules)} modules; running their tests unchanged", flush=True)
    baseline = measure(given.tests or [_mirror(room) for room in given.rooms], given.again)
    known = [mutant for path in modules for mutant in mutants_of(path)]
    rng = random.Random(given.seed)
    sample = rng.sample(known, min(given.sample, len(known)))
    if given.names:
        names = set(Path(given.names).read_text(encoding="utf-8").splitlines())
        sample = [mutant for mutant in known if mutant.name in names]
    print(f"{len(known)} changes known, {len(sample)} drawn; {len(baseline.costs)} tests")
    preload(baseline)
    results = _run_all(sample, baseline, given.minutes * 60)
    return _report(given, len(known), results)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("rooms", nargs="+", help="folders or files, such as canon/rules")
    parser.add_argument("--tests", nargs="+", help="instead of those that mirror the rooms")
    parser.add_argument("--sample", type=int, default=200, help="how many changes to try")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--minutes", type=float, default=60, help="stop after these")
    parser.add_argument("--names", metavar="FILE", help="try these, one a line, and no sample")
    parser.add_argument("--again", action="store_true", help="trust the last run unchanged")
    parser.add_argument("--keep", metavar="NAME", help="write the run to benchmarks/runs/")
    return parser.parse_args()


def _files(room: str) -> list[Path]:
    path = ROOT / room
    return [path] if path.suffix else list(path.rglob("*.py"))


def _mirror(room: str) -> str:
    """Return the folder of the tests of a room's package: rooms are tested through it, too."""
    return "tests/canon" if room.startswith("canon") else f"tests/{room}"


def _run_all(sample: list[Mutant], baseline: Baseline, seconds: float) -> list[Result]:
    """Run mutants in turn, until the time is over."""
    start, results = time.monotonic(), []
    for number, mutant in enumerate(sample, 1):
        if time.monotonic() - start > seconds:
            break
        results.append(run(mutant, baseline))
        if results[-1].outcome != "killed":
            print(f"{number}: {results[-1].outcome}: {mutant.name}", flush=True)
    return results


def _report(given: argparse.Namespace, known: int, results: list[Result]) -> int:
    """Print what was found, and keep it if that is wanted; return the unexplained survivors."""
    reasons = _explained()
    survivors = [result.mutant for result in results if result.outcome == "survived"]
    open_ = [mutant for mutant in survivors if mutant.name not in reasons]
    counts = Counter(result.outcome for result in results)
    rooms = Counter((Path(r.mutant.path).parent.as_posix(), r.outcome) for r in results)
    report = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "python": sys.version.split()[0],
        "changes known": known,
        "tried": len(results),
        "outcomes": dict(counts),
        "by room": {f"{room}: {what}": count for (room, what), count in sorted(rooms.items())},
        "survivors": {
            f"{mutant.name} (line {mutant.first})": reasons.get(mutant.name, "")
            for mutant in survivors
        },
    }
    if given.keep:
        folder = _KEPT / datetime.now(UTC).date().isoformat()
        folder.mkdir(exist_ok=True)
        text = json.dumps(report, indent=2, ensure_ascii=False)
        (folder / f"mutants-{given.keep}.json").write_text(f"{text}\n", encoding="utf-8")
    print(f"{len(results)} tried: {dict(counts)}; {len(open_)} survivors without an explanation")
    for mutant in open_:
        print(f"  {mutant.name} (line {mutant.first})")
    return min(len(open_), 99)


def _explained() -> dict[str, str]:
    """Read why survivors survive: lines of ``# reason`` above the names that it holds for."""
    found, reason = {}, ""
    for line in _EXPLAINED.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            found[line] = reason
    return found


if __name__ == "__main__":
    sys.exit(main())

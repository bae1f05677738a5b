"""Run the tests of the kernels under sanitizers: ``make test-sanitized``.

The kernels are compiled with GCC's address and undefined-behaviour sanitizers into a wheel below
``build/sanitized``, which the tests import in place of the checkout's. Each read or write outside
of an object, each use of freed memory and each undefined operation ends the run. Memory comes from
malloc, since the sanitizer cannot see into Python's own arenas.

``--threads`` compiles them with the thread sanitizer instead, and runs the tests in which threads
share a kernel: a write that another thread's read or write does not wait for ends the run. It sees
who holds Python's lock, so what it finds lies in code that runs without it.

``--avx2`` and ``--plain`` compile them as for processors that have AVX2 only, or none of the
instructions that the kernels ask for: else what this machine has is what runs.

``python tests/sanitized.py tests/canon/test_columns.py -k many`` runs these tests instead.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
_BUILT = ROOT / "build" / "sanitized"
_MEMORY = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
_THREADS = "-fsanitize=thread -fno-omit-frame-pointer"
# Whether a processor has an instruction set: "avx2" has a 2 as its fourth letter, "avx512bw" a 5.
_PROCESSORS = {
    "--avx2": "'-D__builtin_cpu_supports(x)=((x)[3]==50)'",
    "--plain": "'-D__builtin_cpu_supports(x)=0'",
}
_MEMORY_TESTS = (
    "tests/canon/pipeline/test_merging.py",
    "tests/canon/pipeline/test_native.py",
    "tests/canon/pipeline/test_threads.py",
    "tests/canon/test_arrow_columns.py",
    "tests/crawler/batch/test_key_set.py",
    "tests/crawler/documents/test_page_scan.py",
)
_THREADS_TESTS = (
    "tests/canon/pipeline/test_threads.py",
    "tests/crawler/batch/test_key_set.py",
    "tests/crawler/batch/test_dedup.py",
)


def main() -> int:
    """Build, and run the tests; return their exit code."""
    words = sys.argv[1:]
    for_threads = "--threads" in words
    processor = [_PROCESSORS[word] for word in words if word in _PROCESSORS]
    words = [word for word in words if word != "--threads" and word not in _PROCESSORS]
    site = _built(_THREADS if for_threads else _MEMORY, *processor)
    kernels = sorted(path.name.partition(".")[0] for path in site.rglob("*.so"))
    print(f"sanitized: {', '.join(kernels) or 'nothing: there is no GCC'}", flush=True)
    if not kernels:
        return 1
    env = {
        **os.environ,
        "PYTHONPATH": str(site),
        "PYTHONSAFEPATH": "1",  # the checkout's own kernels are not these
        "PYTHONMALLOC": "malloc",
        "LD_PRELOAD": _library("libtsan.so" if for_threads else "libasan.so"),
        # Python itself leaves memory to the end of the process.
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "TSAN_OPTIONS": "halt_on_error=1:ignore_noninstrumented_modules=1",
    }
    run = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
    run += ["--capture=sys", "--hypothesis-profile=fast", "--timeout=600"]
    tests = words or (_THREADS_TESTS if for_threads else _MEMORY_TESTS)
    return subprocess.run([*run, *tests], cwd=ROOT, env=env, check=False).returncode


def _built(checks: str, *more: str) -> Path:
    """Build a wheel whose kernels are compiled with checks; return the folder that imports find."""
    shutil.rmtree(_BUILT, ignore_errors=True)
    flags = {"CC": "gcc", "CFLAGS": " ".join(["-O1 -g", checks, *more]), "LDFLAGS": checks}
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(_BUILT)]
    subprocess.run(build, cwd=ROOT, env={**os.environ, **flags}, check=True)
    [wheel] = _BUILT.glob("*.whl")
    site = _BUILT / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def _library(name: str) -> str:
    """Return the path of a library of GCC's."""
    asked = ["gcc", f"-print-file-name={name}"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())

"""Run the fast tests under other interpreters, free-threaded ones included: ``make test-all``.

Without names, these are all of CPython 3.11 to 3.14 that the machine has, on the path or where uv
finds them; a line says which it does not have. ``python tests/interpreters.py python3.13
/opt/python3.14t`` takes these. Each gets a virtual environment, below ``.venv-interpreters``.

Where packages of the crawler or of the tests have no wheel for an interpreter, and always under a
free-threaded one, the tests of the library run alone: without packages that would turn the global
lock on again. ``--library`` does so for all.

``--lowest`` runs the tests with the oldest release of each package that ``pyproject.toml`` allows.
It needs uv.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_WANTED = [f"3.{minor}{kind}" for minor in range(11, 15) for kind in ("", "t")]
_WANTED.remove("3.11t")
_WANTED.remove("3.12t")
_TOOLS = ("pytest>=9.0", "pytest-timeout>=2.4", "pytest-xdist>=3.6", "hypothesis>=6.150")
# What the library needs of what Canonry needs.
_LIBRARY = ("ada-url>=4.0", "msgspec>=0.20", "publicsuffixlist>=1.0", "numpy>=2.0", "uritools>=5.0")
_ROOMS = ("inspect", "learned", "pipeline", "policies", "references", "rules", "syntax")
_LIBRARY_TESTS = ("--noconftest", *(f"tests/canon/{room}" for room in _ROOMS))
_WHOLE = ("--editable", ".[all,duckdb,pandas,polars]", "--group", "test")
# The releases of peers, old and new, are for tests/peers.py.
_WHOLE_TESTS = (
    "--hypothesis-profile=fast",
    "-m", "not (browser or postgresql or spark or processes or kills or slow)",
    "--ignore=tests/crawler/adapters", "--ignore=tests/docs", "tests",
)  # fmt: skip


def main() -> int:
    """Run them all; return the number of interpreters under which tests fail."""
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    names = [word for word in sys.argv[1:] if not word.startswith("--")]
    if "--lowest" in options:
        return int(not _passes_with_the_lowest(sys.executable))
    if not names:
        found = {wanted: _find(wanted) for wanted in _WANTED}
        missing = [wanted for wanted, name in found.items() if name is None]
        print(f"this machine does not have: {', '.join(missing) or 'nothing of these'}", flush=True)
        names = [name for name in found.values() if name]
    failed = [name for name in names if not _passes(name, library="--library" in options)]
    print(f"failed: {', '.join(failed)}" if failed else f"all passed: {', '.join(names)}")
    return len(failed)


def _find(wanted: str) -> str | None:
    """Return an interpreter of a version; None if the machine has none that starts."""
    candidates = [f"python{wanted}"]
    if shutil.which("uv"):
        asked = ["uv", "python", "find", "--no-python-downloads", wanted]
        uv = subprocess.run(asked, capture_output=True, text=True, check=False)
        candidates += uv.stdout.split()
    for name in filter(shutil.which, candidates):
        # A shim of pyenv is on the path whether or not its Python is chosen.
        if subprocess.run([name, "-c", ""], capture_output=True, check=False).returncode == 0:
            return name
    return None


def _passes(name: str, *, library: bool) -> bool:
    """Return True if the tests pass under an interpreter."""
    folder = ROOT / ".venv-interpreters" / name.strip("/").replace("/", "-")
    python = str(folder / "bin" / "python")
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    if _fails(name, "-m", "venv", str(folder)) or _fails(*pip, "pip>=25.1"):
        return False
    asked = "import sysconfig; print(sysconfig.get_config_var('Py_GIL_DISABLED') or 0)"
    threads = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
    is_free = threads.stdout.strip() == "1"
    if not library and not is_free:
        if not _fails(*pip, *_WHOLE):
            return not _fails(python, "-m", "pytest", "-q", "-n", "auto", *_WHOLE_TESTS)
        print(f"{name}: not all packages can be installed, so the library alone is tested")
    print(f"{name}: the library{', without the global lock' if is_free else ''}", flush=True)
    if _fails(*pip, *_TOOLS, *_LIBRARY) or _fails(*pip, "--no-deps", "--editable", "."):
        return False
    lock = {"PYTHON_GIL": "0"} if is_free else {}
    return not _fails(python, "-m", "pytest", "-q", "-n", "auto", *_LIBRARY_TESTS, **lock)


def _passes_with_the_lowest(name: str) -> bool:
    """Return True if the tests pass with the oldest packages that are allowed."""
    if not shutil.which("uv"):
        print("uv is needed: pip install uv")
        return False
    folder = ROOT / ".venv-interpreters" / "lowest"
    python = str(folder / "bin" / "python")
    install = ("uv", "pip", "install", "--quiet", "--python", python)
    return not (
        _fails("uv", "venv", "--quiet", "--clear", "--python", name, str(folder))
        or _fails(*install, "--resolution", "lowest-direct", *_WHOLE)
        or _fails(python, "-m", "pytest", "-q", "-n", "auto", *_WHOLE_TESTS)
    )


def _fails(*command: str, **more: str) -> bool:
    """Run a command, with more variables in its environment; return True if it fails."""
    return bool(
        subprocess.run(command, cwd=ROOT, check=False, env={**os.environ, **more}).returncode
    )


if __name__ == "__main__":
    sys.exit(main())

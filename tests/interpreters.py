"""Run the tests of the library with other interpreters, free-threaded ones included.

``python tests/interpreters.py python3.13 python3.14t`` makes a virtual environment for each, below
``.venv-interpreters``, and runs the tests of ``canon`` in it. Without names, it tries all that are
on the path. Under a free-threaded interpreter they run without the global lock.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_NAMES = [f"python3.{minor}{kind}" for minor in range(11, 16) for kind in ("", "t")]
_TOOLS = ("pytest>=9.0", "pytest-timeout>=2.4", "pytest-xdist>=3.6", "hypothesis>=6.150")
# Not all that the crawler needs has wheels for every interpreter; this is what the library needs.
_LIBRARY = ("ada-url>=4.0", "msgspec>=0.20", "publicsuffixlist>=1.0", "numpy>=2.0", "uritools>=5.0")
_ROOMS = ("inspect", "learned", "pipeline", "policies", "references", "rules", "syntax")
_TESTS = [f"tests/canon/{room}" for room in _ROOMS]


def main() -> int:
    """Run them all; return the number of interpreters under which tests fail."""
    names = sys.argv[1:] or [name for name in _NAMES if shutil.which(name)]
    failed = [name for name in names if not _passes(name)]
    print(f"failed: {', '.join(failed)}" if failed else f"all passed: {', '.join(names)}")
    return len(failed)


def _passes(name: str) -> bool:
    """Return True if the tests pass under an interpreter."""
    folder = ROOT / ".venv-interpreters" / Path(name).name
    python = str(folder / "bin" / "python")
    for command in (
        [name, "-m", "venv", str(folder)],
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         *_TOOLS, *_LIBRARY],
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         "--no-deps", "--editable", str(ROOT)],
        [python, "-m", "pytest", "-q", "-n", "auto", "--noconftest", *_TESTS],
    ):  # fmt: skip
        environment = {**os.environ, "PYTHON_GIL": "0"} if name.endswith("t") else None
        if subprocess.run(command, cwd=ROOT, check=False, env=environment).returncode:
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())

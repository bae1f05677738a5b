"""A real Chromium for tests: that of the machine, or one that a package of npm's registry ships."""

import io
import os
import platform
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import brotli
from playwright.sync_api import Browser, sync_playwright
from support.browsing import npm_packages
from support.browsing.npm_packages import Package, UnavailableError

NAMED = "CANONRY_TEST_BROWSER"  # an environment variable: the path of a Chromium to use
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PACKAGE = Package(
    "@sparticuz/chromium",
    "153.0.0",
    "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA==",
)
_FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><include ignore_missing="yes">/etc/fonts/fonts.conf</include>
<dir prefix="relative">fonts</dir><cachedir prefix="relative">fonts-cache</cachedir></fontconfig>
"""
# It asks nothing of the network by itself; tests run as any user, in containers, too.
_FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


@contextmanager
def running() -> Iterator[Browser]:
    """Run a Chromium without a window.

    While it runs, `asyncio.run` does not work in this thread.

    Raises:
        UnavailableError: there is none, and none could be fetched.
    """
    program, environment = _program()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=_FLAGS, env={**os.environ, **environment}
        )
        yield browser
        browser.close()


def _program() -> tuple[str, dict[str, str]]:
    """Return the path of a Chromium, and the variables that it needs."""
    if named := os.environ.get(NAMED):
        return named, {}
    for name in _NAMES:
        if (path := shutil.which(name)) and _works(path):
            return path, {}
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise UnavailableError(f"no Chromium on this machine: install one, or name it in {NAMED}")
    folder = npm_packages.unpacked(_PACKAGE, _unpack)
    libraries = os.pathsep.join(filter(None, [f"{folder}/lib", os.environ.get("LD_LIBRARY_PATH")]))
    return f"{folder}/chromium", {
        "LD_LIBRARY_PATH": libraries,
        "FONTCONFIG_FILE": f"{folder}/fonts.conf",
    }


def _works(path: str) -> bool:
    """Return True if a program runs; some are scripts that only name another package."""
    try:
        subprocess.run([path, "--version"], check=True, capture_output=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def _unpack(folder: Path) -> None:
    """Put the program, its libraries and fonts into the package's folder, in place of the rest."""
    packed = folder / "bin"
    for name in ("al2023.tar.br", "fonts.tar.br"):
        data = brotli.decompress((packed / name).read_bytes())
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(folder, filter="data")
    program = folder / "chromium"
    program.write_bytes(brotli.decompress((packed / "chromium.br").read_bytes()))
    program.chmod(0o755)
    (folder / "fonts.conf").write_text(_FONTS, encoding="utf-8")
    shutil.rmtree(packed)

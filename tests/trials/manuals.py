"""Manuals as Debian packages: their files, the files that links lead to, and pages cut in parts."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

_LANGUAGES = ("de", "en", "es", "fr", "it", "ja", "pt", "zh-cn")


class Manual(NamedTuple):
    """A tree of HTML in Debian's packages."""

    folder: str
    """Below ``/``, as the packages have it."""
    entries: tuple[str, ...]
    """The files that a start page links to, relative to the folder."""
    packages: tuple[str, ...]


MANUALS = {
    "git": Manual("usr/share/doc/git-doc", ("index.html",), ("git-doc",)),
    "postgresql": Manual(
        "usr/share/doc/postgresql-doc-15/html", ("index.html",), ("postgresql-doc-15",)
    ),
    "reference": Manual(
        "usr/share/debian-reference",
        tuple(f"index.{language}.html" for language in _LANGUAGES),
        tuple(f"debian-reference-{language}" for language in _LANGUAGES),
    ),
    "policy": Manual(
        "usr/share/doc/debian-policy",
        ("policy.html/index.html", "perl-policy.html/index.html", "menu-policy.html/index.html"),
        ("debian-policy",),
    ),
    "python": Manual("usr/share/doc/python3.11/html", ("index.html",), ("python3.11-doc",)),
    "java": Manual(
        "usr/share/doc/openjdk-17-jre-headless", ("api/index.html",), ("openjdk-17-doc",)
    ),
}


def unpacked(packages: Iterable[str], cache: Path) -> dict[str, str]:
    """Download and unpack packages below ``cache / "root"``, unless they are there.

    Nothing is installed into the system, so this needs no rights and starts no service.

    Returns:
        The version of each package.

    Raises:
        SystemExit: this is not Debian, nor a descendant.
    """
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise SystemExit(f"this trial needs Debian's packages, and {program} is missing")
    debs, root = cache / "debs", cache / "root"
    debs.mkdir(parents=True, exist_ok=True)
    versions = {}
    for package in packages:
        found = sorted(debs.glob(f"{package}_*.deb"))
        if not found:
            subprocess.run(["apt-get", "download", "-qq", package], cwd=debs, check=True)
            found = sorted(debs.glob(f"{package}_*.deb"))
        stamp = debs / f"{found[-1].name}.unpacked"
        if not stamp.exists():
            subprocess.run(["dpkg-deb", "-x", found[-1], root], check=True)
            stamp.touch()
        field = ["dpkg-deb", "-f", str(found[-1]), "Version"]
        done = subprocess.run(field, check=True, capture_output=True, text=True)
        versions[package] = done.stdout.strip()
    return versions


class _Links(HTMLParser):
    """Collects what a page links to, but for ``rel=nofollow``."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        name = {"a": "href", "area": "href", "frame": "src", "iframe": "src"}.get(tag)
        if "nofollow" not in (dict(attrs).get("rel") or "").lower().split():
            self.found += [value for key, value in attrs if key == name and value]


class Reachable(NamedTuple):
    """What links lead to."""

    files: frozenset[Path]
    """Files, with links of the file system resolved."""
    missing: frozenset[str]
    """Paths of URLs that lead to no file."""


def reachable(root: Path, entries: Iterable[str]) -> Reachable:
    """Follow the links of a tree of HTML, on disk; shares no code with the crawler."""
    waiting = [f"/{entry}" for entry in entries]
    seen = set(waiting)
    files, missing = set(), set()
    while waiting:
        path = waiting.pop()
        place = root / unquote(path).lstrip("/")
        if place.is_dir():
            place /= "index.html"
            path = path.rstrip("/") + "/"
        if not place.is_file():
            missing.add(path)
            continue
        files.add(place.resolve())
        if place.suffix != ".html":
            continue
        page = _Links()
        page.feed(place.read_text(encoding="utf-8", errors="replace"))
        for link in page.found:
            try:
                target = urlsplit(urljoin(f"http://tree.invalid{path}", link.strip()))
            except ValueError:
                continue
            if target.netloc == "tree.invalid" and target.path not in seen:
                seen.add(target.path)
                waiting.append(target.path)
    return Reachable(frozenset(files), frozenset(missing))


_BODY = re.compile(rb"<body[^>]*>(.*)</body>", re.DOTALL | re.IGNORECASE)
_BLOCK = re.compile(rb"<(?:p|pre|dl|dt|ul|ol|table|h[2-6]|div)[\s>]", re.IGNORECASE)
_TAG = re.compile(rb"<[^>]*>")
_LEAST = 60  # words


def parts(files: Iterable[Path]) -> dict[Path, tuple[int, ...]]:
    """Cut each long page in three.

    Returns:
        For each page, the four offsets in bytes between which its parts are. A page has none if
        the parts would have under sixty words each, or begin alike.
    """
    found = {}
    for file in files:
        data = file.read_bytes() if file.suffix == ".html" else b""
        body = _BODY.search(data)
        if body is None:
            continue
        start, end = body.span(1)
        blocks = [match.start() for match in _BLOCK.finditer(data, start, end)]
        thirds = (start + (end - start) * n // 3 for n in (1, 2))
        cuts = [
            min(blocks, key=lambda at, third=third: abs(at - third), default=start)
            for third in thirds
        ]
        places = (start, *cuts, end)
        words = [_TAG.sub(b" ", data[one:other]).split() for one, other in pairwise(places)]
        if min(map(len, words)) >= _LEAST and len({tuple(w[:_LEAST]) for w in words}) == 3:
            found[file] = places
    return found


def as_lua(root: Path, cuts: dict[Path, tuple[int, ...]]) -> Iterator[str]:
    """Yield rows of a table for ``careless.lua``: nginx's name for a file, the offsets."""
    for name in root.rglob("*.html"):
        places = cuts.get(name.resolve())
        if places is not None:
            yield f"[{json.dumps(str(name))}] = {{{', '.join(map(str, places))}}},"

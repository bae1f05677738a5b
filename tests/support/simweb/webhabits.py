"""Habits of honest hosts: the other names that a page has, and how to get back from these."""

import random
import re
import string
from collections.abc import Callable
from typing import NamedTuple

Spell = Callable[[str, random.Random], str]  # from a page's URL to another name of it
Clean = Callable[[str], str]  # back; returns all other URLs as they are

PLAIN, FOLDER, QUERY = "/docs/page", "/docs/page/", "/view?cat=3&id=7"  # shapes of pages' URLs


class Habit(NamedTuple):
    """A way in which a host has several names for a page."""

    name: str
    shapes: tuple[str, ...]  # of the URLs that may have it
    spell: Spell
    clean: Clean
    is_fresh: bool = False  # True: each link of each answer has another name


def habits(host: str, rng: random.Random) -> list[Habit]:
    """Return the habits that a host may have, in the order in which their names are cleaned.

    Args:
        host: the host of its pages' URLs; it begins with "www.".
        rng: chooses names of parameters and folders.
    """
    bare = host.removeprefix("www.")
    ref = rng.choice(("ref", "src", "from", "campaign"))
    sid = rng.choice(("sid", "s", "token"))
    size = rng.choice((8, 32))
    old = rng.choice(("old", "v1", "content/cms"))
    index = rng.choice(("index.php", "index.html", "default.aspx"))
    every = (PLAIN, FOLDER, QUERY)
    return [
        Habit(
            "scheme",
            every,
            lambda url, _rng: url.replace("https:", "http:", 1),
            lambda url: url.replace("http:", "https:", 1),
        ),
        Habit(
            "www",
            every,
            lambda url, _rng: url.replace(f"//{host}/", f"//{bare}/", 1),
            lambda url: url.replace(f"//{bare}/", f"//{host}/", 1),
        ),
        Habit(
            "slashes",
            (PLAIN, FOLDER),
            lambda url, _rng: _path(url, lambda path: path[0] + path[1:].replace("/", "//", 1)),
            lambda url: _path(url, lambda path: re.sub("//+", "/", path)),
        ),
        Habit(
            "prefix",
            (PLAIN, FOLDER),
            lambda url, _rng: _path(url, lambda path: f"/{old}{path}"),
            lambda url: _path(url, lambda path: path.removeprefix(f"/{old}")),
        ),
        Habit(
            "session in path",
            (PLAIN,),
            lambda url, rng: _path(url, lambda path: f"{path};sid={_token(rng, size)}"),
            lambda url: re.sub(r";sid=\w+", "", url),
            is_fresh=True,
        ),
        Habit(
            "session in query",
            (PLAIN, QUERY),
            lambda url, rng: _with(url, sid, _token(rng, size)),
            lambda url: without(url, sid),
            is_fresh=True,
        ),
        Habit(
            "parameter",
            (PLAIN, FOLDER),
            lambda url, rng: _with(url, ref, str(rng.randrange(9))),
            lambda url: without(url, ref),
        ),
        Habit(
            "parameter beside",
            (QUERY,),
            lambda url, rng: _with(url, ref, rng.choice("xyz")),
            lambda url: without(url, ref),
        ),
        Habit("order", (QUERY,), lambda url, _rng: _reversed(url), _ordered),
        Habit(
            "index",
            (FOLDER,),
            lambda url, _rng: _path(url, lambda path: path + index),
            lambda url: _path(url, lambda path: path.removesuffix(index)),
        ),
        Habit("slash off", (PLAIN,), lambda url, _rng: _path(url, _slashed), unslashed),
        Habit(
            "slash on",
            (FOLDER,),
            lambda url, _rng: _path(url, lambda path: path.removesuffix("/")),
            lambda url: _path(url, _slashed),
        ),
        Habit(
            "case",
            (PLAIN,),
            lambda url, _rng: _path(url, capitalized),
            lambda url: _path(url, str.lower),
        ),
    ]


def _path(url: str, change: Callable[[str], str]) -> str:
    """Return a URL with another path; the root keeps its own."""
    bare, mark, query = url.partition("?")
    start = bare.index("/", len("https://"))
    path = bare[start:]
    return url if path == "/" else f"{bare[:start]}{change(path)}{mark}{query}"


def slashed(url: str) -> str:
    """Return a URL with a slash at the end of its path."""
    return _path(url, _slashed)


def unslashed(url: str) -> str:
    """Return a URL without the slash at the end of its path."""
    return _path(url, lambda path: path.removesuffix("/"))


def raised(url: str) -> str:
    """Return a URL whose last segment begins with a capital letter."""
    return _path(url, capitalized)


def _slashed(path: str) -> str:
    is_file = "." in path.rpartition("/")[2]
    return path if path.endswith("/") or is_file else f"{path}/"


def capitalized(path: str) -> str:
    """Return a path whose last segment begins with a capital letter."""
    head, slash, last = path.rpartition("/")
    return f"{head}{slash}{last.capitalize()}"


def _with(url: str, name: str, value: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}{name}={value}"


def without(url: str, name: str) -> str:
    """Return a URL without a parameter."""
    bare, mark, query = url.partition("?")
    if not mark:
        return url
    rest = [field for field in query.split("&") if field.partition("=")[0] != name]
    return f"{bare}?{'&'.join(rest)}" if rest else bare


def _reversed(url: str) -> str:
    bare, _, query = url.partition("?")
    return f"{bare}?{'&'.join(reversed(query.split('&')))}" if query else url


def _ordered(url: str) -> str:
    bare, _, query = url.partition("?")
    return f"{bare}?{'&'.join(sorted(query.split('&')))}" if query else url


def _token(rng: random.Random, size: int) -> str:
    return "".join(rng.choices(string.hexdigits[:16], k=size))

"""THE table of families: every kind of lesson that can be learned about a host.

A lesson is typed: it fills in one family's blanks, and is never a free pattern. So whatever a file
of lessons says, it can fold no more than its family folds. The families stand in the order in which
they run; host names come last, so that what a host does to its own paths is done before.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from canonry.canon.rules import practice
from canonry.canon.rules.rule import Rule, Rung
from canonry.canon.syntax import grammar, query
from canonry.canon.syntax.parts import Parts


class Lesson(NamedTuple):
    """One family's blanks, filled in: what is equal to what on one host.

    ``host`` is a name without port; only URLs without a port are meant. ``below`` is the part of
    the host that is meant, a path that ends with a slash. ``old`` and ``new`` are what the family
    makes of what; ``beside`` are the names of the other parameters, sorted. With ``subdomains`` the
    hosts below ``host`` are meant too, except for those in ``but``.
    """

    host: str
    family: str
    below: str = "/"
    old: str = ""
    new: str = ""
    beside: tuple[str, ...] = ()
    subdomains: bool = False
    but: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Family(Rule):
    """A row of the table.

    ``apply`` is a total function that returns the same object when it has nothing to do. ``check``
    returns why a lesson's blanks cannot be filled in like this, or None.
    """

    apply: Callable[[Parts, Lesson], Parts]
    check: Callable[[Lesson], str | None]
    moves_host: bool = False


_FILE = re.compile(r"[^/]+\.[^/.]+")
INDEX_FILE = re.compile(r"(?:index|default|home|main|welcome)(?:\.[A-Za-z0-9]{1,8})?")
_HOST_NAME = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_\-]*[a-z0-9_])?\.)+[a-z](?:[a-z0-9\-]*[a-z0-9])?")
_MAX_HOST = 253


def is_host_name(text: str) -> bool:
    """Say whether a text is a name of two labels or more, as canonical URLs have it."""
    return len(text) <= _MAX_HOST and _HOST_NAME.fullmatch(text) is not None


def is_directory(text: str) -> bool:
    """Say whether a text is a path of whole segments, with a slash at both ends."""
    ends = text.startswith("/") and text.endswith("/") and "//" not in text
    return ends and grammar.matches("path-absolute", text)


def upgrade_scheme(parts: Parts, _lesson: Lesson) -> Parts:
    """Write http as https."""
    return parts._replace(scheme="https") if parts.scheme == "http" else parts


def rename_host(parts: Parts, lesson: Lesson) -> Parts:
    """Write one host's name as another's."""
    return parts._replace(host=lesson.new) if parts.host == lesson.host else parts


def fold_slashes(parts: Parts, _lesson: Lesson) -> Parts:
    """Write several slashes in a path as one."""
    return practice.fold_slashes(parts)


def move_prefix(parts: Parts, lesson: Lesson) -> Parts:
    """Write the beginning of a path as another."""
    if not parts.path.startswith(lesson.old):
        return parts
    return parts._replace(path=lesson.new + parts.path[len(lesson.old) :])


def drop_index_file(parts: Parts, lesson: Lesson) -> Parts:
    """Leave out the name of a directory's default document, where no query hangs on it."""
    directory, slash, name = parts.path.rpartition("/")
    if name != lesson.old or parts.query is not None:
        return parts
    return parts._replace(path=directory + slash)


def lower_path(parts: Parts, _lesson: Lesson) -> Parts:
    """Write a path in lower case, except for the digits of escapes."""
    path = practice.lower_letters(Parts(None, None, None, None, parts.path, None, None)).path
    return parts if path == parts.path else parts._replace(path=path)


def settle_slash(parts: Parts, lesson: Lesson) -> Parts:
    """Add or drop the slash at the end of a path that is not the root."""
    path = parts.path
    bare = path.removesuffix("/")
    if not bare or bare.endswith("/"):
        return parts
    is_file = _FILE.fullmatch(bare.rpartition("/")[2]) is not None
    wanted = bare + "/" if lesson.new == "slash" else bare
    if is_file is not (lesson.new == "file") or wanted == path:
        return parts
    return parts._replace(path=wanted)


def drop_parameter(parts: Parts, lesson: Lesson) -> Parts:
    """Leave out a parameter, where the names of all others are those that the lesson names."""
    if not parts.query or lesson.old not in parts.query:
        return parts
    fields = query.fields(parts.query)
    kept = [field for field in fields if query.name(field) != lesson.old]
    if len(kept) == len(fields) or names_of(kept) != lesson.beside:
        return parts
    return parts._replace(query="&".join(kept) if kept else None)


def names_of(fields: list[str]) -> tuple[str, ...]:
    """Return the names in some fields, sorted, each once."""
    return tuple(sorted({query.name(field) for field in fields}))


def sort_parameters(parts: Parts, _lesson: Lesson) -> Parts:
    """Sort the fields of a form by name; equal names keep their order."""
    return practice.sort_query(parts)


def _no_blanks(lesson: Lesson) -> str | None:
    return "it takes neither 'old' nor 'new'" if lesson.old or lesson.new else None


def _check_host(lesson: Lesson) -> str | None:
    if lesson.old or not is_host_name(lesson.new) or lesson.new == lesson.host:
        return "'new' has to be another host's name, in lower case, and 'old' empty"
    if lesson.subdomains:
        return "a host's new name cannot be meant for its subdomains"
    return None


def _check_www(lesson: Lesson) -> str | None:
    if {lesson.new, lesson.host} not in (
        {lesson.host, f"www.{lesson.host}"},
        {lesson.new, f"www.{lesson.new}"},
    ):
        return "'new' has to be the host's name with 'www.' before it, or without"
    return _check_host(lesson)


def _check_prefix(lesson: Lesson) -> str | None:
    for name, value in (("old", lesson.old), ("new", lesson.new)):
        if not is_directory(value):
            return f"{name!r} has to be a path that begins and ends with a slash"
    if lesson.new.lower().startswith(lesson.old.lower()):
        return "'new' begins with 'old', so the path would grow for ever"
    return None


def _check_index(lesson: Lesson) -> str | None:
    if lesson.new or not INDEX_FILE.fullmatch(lesson.old):
        return "'old' has to be a name such as index.html or home.php, and 'new' empty"
    return None


def _check_slash(lesson: Lesson) -> str | None:
    if lesson.old or lesson.new not in {"slash", "bare", "file"}:
        return (
            "'new' has to be 'slash' (it is added), 'bare' (it is dropped) or 'file' (it is "
            "dropped behind a file's extension), and 'old' empty"
        )
    return None


def _check_parameter(lesson: Lesson) -> str | None:
    if lesson.new or not lesson.old or any(mark in lesson.old for mark in "&=#"):
        return "'old' has to be a parameter's name, and 'new' empty"
    if list(lesson.beside) != sorted(set(lesson.beside) - {lesson.old}):
        return "'beside' has to be the names of the other parameters, sorted"
    return None


def _learned(name: str, **row: object) -> Family:
    """Return a row with what is common to all."""
    return Family(
        name=f"learned-{name}",
        cites="RFC 3986 section 6.2.4",
        rung=Rung.PROTOCOL,
        lossless=False,
        **row,  # type: ignore[arg-type]
    )


FAMILIES: dict[str, Family] = {
    "scheme-upgrade": _learned(
        "scheme-upgrade",
        why="The host answers http with the same page on https.",
        before="http://example.com/a",
        after="https://example.com/a",
        apply=upgrade_scheme,
        check=_no_blanks,
    ),
    "double-slash": _learned(
        "double-slash",
        why="The host takes several slashes in a path for one.",
        before="http://example.com/a//b",
        after="http://example.com/a/b",
        apply=fold_slashes,
        check=_no_blanks,
    ),
    "path-prefix": _learned(
        "path-prefix",
        why="The host moved a directory.",
        before="http://example.com/old/a",
        after="http://example.com/new/a",
        apply=move_prefix,
        check=_check_prefix,
    ),
    "index-file": _learned(
        "index-file",
        why="The host's name for a directory's default document.",
        before="http://example.com/a/home.php",
        after="http://example.com/a/",
        apply=drop_index_file,
        check=_check_index,
    ),
    "letter-case": _learned(
        "letter-case",
        why="The host does not tell upper from lower case in paths.",
        before="http://example.com/About",
        after="http://example.com/about",
        apply=lower_path,
        check=_no_blanks,
    ),
    "trailing-slash": _learned(
        "trailing-slash",
        why="The host's paths mean the same with a slash at the end and without.",
        before="http://example.com/a",
        after="http://example.com/a/",
        apply=settle_slash,
        check=_check_slash,
    ),
    "parameter-irrelevant": _learned(
        "parameter-irrelevant",
        why="The parameter selects nothing on this host.",
        before="http://example.com/a?id=1&ref=x",
        after="http://example.com/a?id=1",
        apply=drop_parameter,
        check=_check_parameter,
    ),
    "parameter-order": _learned(
        "parameter-order",
        why="The order of parameters means nothing on this host.",
        before="http://example.com/a?b=1&a=2",
        after="http://example.com/a?a=2&b=1",
        apply=sort_parameters,
        check=_no_blanks,
    ),
    "www": _learned(
        "www",
        why="The host is the same with 'www.' before its name and without.",
        before="http://example.com/a",
        after="http://www.example.com/a",
        apply=rename_host,
        check=_check_www,
        moves_host=True,
    ),
    "host-alias": _learned(
        "host-alias",
        why="The host is another name of a host, or has moved there.",
        before="http://example.com/a",
        after="http://example.org/a",
        apply=rename_host,
        check=_check_host,
        moves_host=True,
    ),
}
ORDER = {name: place for place, name in enumerate(FAMILIES)}
_WEB = frozenset({"http", "https"})


def applies_to(lesson: Lesson, parts: Parts) -> bool:
    """Say whether a URL lies where a lesson holds: on its host, on no port, below its path."""
    return (
        parts.scheme in _WEB
        and parts.port is None
        and parts.userinfo is None
        and parts.path.startswith(lesson.below)
        and is_on(lesson, parts.host or "")
    )


def is_on(lesson: Lesson, host: str) -> bool:
    """Say whether a lesson is about a host."""
    if host == lesson.host:
        return True
    return lesson.subdomains and host.endswith("." + lesson.host) and host not in lesson.but


def act(lesson: Lesson, parts: Parts) -> Parts:
    """Return what a lesson makes of a URL; the same object when nothing."""
    return FAMILIES[lesson.family].apply(parts, lesson) if applies_to(lesson, parts) else parts

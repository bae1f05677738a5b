"""Reading a pair of URLs that were found equal: which lessons would explain it, if any."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from canonry.canon.learned.families import FAMILIES, INDEX_FILE, Lesson, is_host_name, names_of
from canonry.canon.syntax import Parts, query
from canonry.crawler.admission.scope import registrable

# Segments and labels that say who may see a page, or in which language; they say nothing of what
# is equal: who is sent there today is sent elsewhere tomorrow, or from another country.
_WALL = re.compile(
    r"log-?in|sign-?in|log-?on|auth|oauth2?|sso|saml|accounts?|consent|cookies?|gdpr|privacy-wall|"
    r"captcha|challenge|verify|register|subscribe|paywall|maintenance|error|404|status|unavailable",
    re.IGNORECASE,
)
_LOCALE = re.compile(r"[a-z]{2}(?:[-_](?:[a-z]{2}|[a-z]{4}|[0-9]{3}))?", re.IGNORECASE)


def lessons_from(source: Parts, target: Parts) -> tuple[Lesson, ...]:
    """Return the lessons that together make the target of the source.

    Args:
        source: an identity that led to another, by redirect or by ``rel=canonical``.
        target: that other one.

    Returns:
        Lessons about the source's host, in the order in which they act; empty when they are alike,
        or when no lessons explain all that is different.
    """
    if not (_is_plain(source) and _is_plain(target)):
        return ()
    host = source.host or ""
    found: list[Lesson] = []
    if source.scheme != target.scheme:
        if source.scheme != "http":
            return ()
        found.append(Lesson(host, "scheme-upgrade"))
    for read, here, there in (
        (_of_paths, source, target),
        (_of_queries, source, target),
        (_of_hosts, source, target),
    ):
        lessons = read(here, there)
        if lessons is None:
            return ()
        found += lessons
    if {"host-alias", "path-prefix"} <= {lesson.family for lesson in found}:
        return ()  # page by page it went there: another host's file of the same name is no proof
    return tuple(found)


def _is_plain(parts: Parts) -> bool:
    """Say whether a URL is one that lessons are about."""
    web = parts.scheme in {"http", "https"} and parts.port is None and parts.userinfo is None
    return web and is_host_name(parts.host or "")


def _of_hosts(source: Parts, target: Parts) -> list[Lesson] | None:
    """Return what the hosts' names teach; None when that is no lesson."""
    old, new = source.host or "", target.host or ""
    if old == new:
        return []
    if new == f"www.{old}" or old == f"www.{new}":
        return [Lesson(old, "www", new=new)]
    if _WALL.fullmatch(new.partition(".")[0]) or _is_elsewhere(old, new):
        return None
    return [Lesson(old, "host-alias", new=new)]


def _is_elsewhere(old: str, new: str) -> bool:
    """Say whether two names look like one site for two places or languages.

    That is one name under the suffixes of two countries, or a label more for a language.
    """
    here, there = old.split("."), new.split(".")
    if _LOCALE.fullmatch(there[0]) and there[1:] in (here, here[1:]):  # example.com, de.example.com
        return True
    if _LOCALE.fullmatch(here[0]) and here[1:] in (there, there[1:]):
        return True
    one, other = registrable(old), registrable(new)
    by_country = len(here[-1]) == 2 or len(there[-1]) == 2  # noqa: PLR2004 - ISO 3166's letters
    return one != other and by_country and one.partition(".")[0] == other.partition(".")[0]


def _of_paths(source: Parts, target: Parts) -> list[Lesson] | None:
    """Return what the paths teach; None when that is no lesson."""
    if source.path == target.path:
        return []
    host = source.host or ""
    options = [
        Lesson(host, "double-slash"),
        *_index_file(source),
        Lesson(host, "letter-case"),
        *(Lesson(host, "trailing-slash", new=new) for new in ("slash", "bare", "file")),
    ]
    for size in (1, 2, 3):
        for chosen in combinations(options, size):
            parts = source
            for lesson in chosen:
                after = FAMILIES[lesson.family].apply(parts, lesson)
                if after is parts:
                    break
                parts = after
            else:
                if parts.path == target.path:
                    return list(chosen)
    return _prefix(source, target)


def _index_file(source: Parts) -> Iterator[Lesson]:
    """Yield the lesson that a path ends with the name of a default document, where it does."""
    name = source.path.rpartition("/")[2]
    if source.query is None and INDEX_FILE.fullmatch(name):
        yield Lesson(source.host or "", "index-file", old=name)


def _prefix(source: Parts, target: Parts) -> list[Lesson] | None:
    """Return that a directory moved, where the paths end alike."""
    old, new = source.path.split("/"), target.path.split("/")
    same = 0
    while same < min(len(old), len(new)) - 1 and old[-1 - same] == new[-1 - same]:
        same += 1
    if not same or not any(old[-same:]):
        return None
    old, new = old[1:-same], new[1:-same]
    if _without_locale(old) == _without_locale(new) or any(map(_WALL.fullmatch, new)):
        return None
    lesson = Lesson(source.host or "", "path-prefix", old=_directory(old), new=_directory(new))
    return None if FAMILIES["path-prefix"].check(lesson) else [lesson]


def _without_locale(segments: list[str]) -> list[str]:
    return [segment for segment in segments if not _LOCALE.fullmatch(segment)]


def _directory(segments: list[str]) -> str:
    return "".join(f"/{segment}" for segment in segments) + "/"


def _of_queries(source: Parts, target: Parts) -> list[Lesson] | None:
    """Return what the queries teach; None when that is no lesson."""
    if source.query == target.query:
        return []
    old = query.fields(source.query) if source.query else []
    new = query.fields(target.query) if target.query else []
    if Counter(old) == Counter(new):
        ordered = sorted(old, key=query.name) == new
        return [Lesson(source.host or "", "parameter-order")] if ordered else None
    dropped = sorted(set(names_of(old)) - set(names_of(new)))
    if not dropped or [field for field in old if query.name(field) not in dropped] != new:
        return None
    lessons = []
    names = set(names_of(old))
    for name in dropped:
        names.discard(name)
        lessons.append(_irrelevant(source, name, names))
    return None if None in lessons else lessons  # type: ignore[return-value]  # just looked


def _irrelevant(parts: Parts, name: str, beside: set[str]) -> Lesson | None:
    """Return the lesson that a parameter selects nothing, where its name can be one."""
    lesson = Lesson(
        parts.host or "", "parameter-irrelevant", old=name, beside=tuple(sorted(beside))
    )
    return None if FAMILIES["parameter-irrelevant"].check(lesson) else lesson


def lessons_between(one: Parts, other: Parts) -> tuple[Lesson, ...]:
    """Return the lessons that explain why two URLs answer alike, neither leading to the other.

    Of the two directions the one is taken that makes URLs shorter. Two that differ in nothing but
    the value of one parameter teach that it selects nothing.
    """
    if found := _differing_value(one, other):
        return found
    pair = sorted((one, other), key=lambda parts: (-len(str(parts)), str(parts)))
    return lessons_from(pair[0], pair[1]) or lessons_from(pair[1], pair[0])


def _differing_value(one: Parts, other: Parts) -> tuple[Lesson, ...]:
    """Return that a parameter selects nothing, where nothing but its value is different."""
    if one._replace(query=None) != other._replace(query=None) or not (one.query and other.query):
        return ()
    here, there = query.fields(one.query), query.fields(other.query)
    if list(map(query.name, here)) != list(map(query.name, there)):
        return ()
    names = {query.name(a) for a, b in zip(here, there, strict=True) if a != b}
    if len(names) != 1 or not _is_plain(one):
        return ()
    name = names.pop()
    lesson = _irrelevant(one, name, set(names_of(here)) - {name})
    return () if lesson is None else (lesson,)

"""Why a lesson, or a set of them, cannot be used."""

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from canonry.canon.errors import InvalidURL
from canonry.canon.learned.families import FAMILIES, Lesson, is_directory, is_host_name
from canonry.canon.references.whatwg import serialize

_MOVING = frozenset({"www", "host-alias", "path-prefix"})


def fault(lesson: Lesson) -> str | None:
    """Return why a lesson cannot be used, as a sentence; None when it can."""
    family = FAMILIES.get(lesson.family)
    if family is None:
        return f"there is no family {lesson.family!r}; allowed: {', '.join(FAMILIES)}"
    if not is_host_name(lesson.host) or not _is_canonical(lesson.host):
        return "'host' has to be a host's name in lower case, of two labels or more, without port"
    if not is_directory(lesson.below):
        return "'below' has to be a path that begins and ends with a slash"
    if lesson.beside and lesson.family != "parameter-irrelevant":
        return "'beside' is for the family parameter-irrelevant"
    if lesson.but and not lesson.subdomains:
        return "'but' is for rules with 'subdomains'"
    return family.check(lesson)


def _is_canonical(host: str) -> bool:
    """Say whether a host's name is written as canonical URLs write it."""
    try:
        return serialize(f"http://{host}/") == f"http://{host}/"
    except InvalidURL:
        return False


def find_circle(lessons: Iterable[Lesson]) -> Lesson | None:
    """Return a lesson from which lessons lead back to itself, or None.

    Only new hosts and new prefixes can. One may follow another where what it makes may be what the
    other changes; this is told from the blanks alone, so that a few harmless sets are refused too.
    """
    moving = [lesson for lesson in lessons if lesson.family in _MOVING]
    by_host: dict[str, list[Lesson]] = {}
    for lesson in moving:
        by_host.setdefault(lesson.host, []).append(lesson)
    after = {lesson: _following(lesson, moving, by_host) for lesson in moving}
    try:
        TopologicalSorter(after).prepare()
    except CycleError as error:
        first: Lesson = error.args[1][0]
        return first
    return None


def _following(
    lesson: Lesson, moving: list[Lesson], by_host: Mapping[str, list[Lesson]]
) -> set[Lesson]:
    """Return the lessons that may act on what a lesson makes, itself aside."""
    if lesson.family == "path-prefix":
        near = moving if lesson.subdomains else by_host[lesson.host]
        found = {o for o in near if o.family == "path-prefix" and _overlap(lesson.new, o.old)}
    else:
        found = {o for o in by_host.get(lesson.new, ()) if FAMILIES[o.family].moves_host}
    return found - {lesson}


def _overlap(one: str, other: str) -> bool:
    """Say whether a path may begin with both, letter case aside."""
    one, other = one.lower(), other.lower()
    return one.startswith(other) or other.startswith(one)

"""Loose forms: keys that URLs share if a few learned rules could make them equal. Pure.

A loose form ignores all that rules may change, so it proves nothing: it only says that two URLs are
worth comparing. Host aliases and moved directories are not covered.
"""

import re
from collections.abc import Iterator
from itertools import combinations

from canonry.canon.learned import INDEX_FILE, INDEX_INITIALS, SESSION_SEGMENT, SLUGS, site_of
from canonry.canon.syntax import Parts, query

_MOST_NAMES = 6
_MOST_KEPT = 1  # parameters that stay where several are dropped
_PARAMETERS = re.compile(r";[^/]*")  # of segments (RFC 3986 section 3.3)
_ID = re.compile(r"/[0-9]+(?:\Z|[/-])|-[0-9]+(?:\.[a-z]+)?\Z")
_SLASHES = re.compile(r"//+")


def loose_forms(parts: Parts) -> tuple[str, ...]:
    """Return the loose forms of an identity; none if no rule can be about its site.

    The first leaves out the scheme, ``www.``, letter case, parameters and sessions in the path,
    several slashes, a slash or a default document's name at the end, and the order of the query's
    parameters. The others also leave out one parameter of the query each, of the last six; then all
    of them, or all but one. The last ones leave out words beside an id.
    """
    base = loose_base(parts)
    if base is None:
        return ()
    return (*_forms_by_query(parts, base), *_forms_without_slug(parts, base))


def _forms_without_slug(parts: Parts, base: str) -> Iterator[str]:
    """Yield the forms that URLs share if words beside the id at their end select nothing."""
    if _ID.search(base):  # one without words, too: it meets those that have some
        yield f"{without_slug(base)}*{parts.query or ''}"


def without_slug(path: str) -> str:
    """Return a path without the words beside an id at its end."""
    for words, left in SLUGS.values():
        path = words.sub(left, path)
    return path


def _forms_by_query(parts: Parts, base: str) -> tuple[str, ...]:
    """Return the loose forms by the query of an identity."""
    if not parts.query:
        return (base,)
    if "&" not in parts.query:  # a fast path for one field
        return f"{base}?{parts.query}", base
    fields = sorted(query.fields(parts.query))
    named = [(query.name(field), field) for field in fields]
    names = list(dict.fromkeys(map(query.name, reversed(query.fields(parts.query)))))
    forms = [f"{base}?{'&'.join(fields)}"]
    for name in names[:_MOST_NAMES]:
        kept = "&".join([field for its, field in named if its != name])
        forms.append(f"{base}?{kept}" if kept else base)
    for some in _kept_of_several(names):
        kept = "&".join([field for its, field in named if its in some])
        forms.append(f"{base}?{kept}" if kept else base)
    return tuple(forms)


def loose_base(parts: Parts) -> str | None:
    """Return the start of all loose forms, which is the only one of a URL without a query.

    It is None if no rule can be about its site.
    """
    site = site_of(parts)
    return without_www(site) + loose_path(parts.path) if site else None


def without_www(site: str) -> str:
    """Return a site without ``www.`` before its name, even if repeated."""
    while site.startswith("www."):
        site = site[4:]
    return site


def _kept_of_several(names: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield the names of the parameters that are kept where several are dropped."""
    if 2 <= len(names) <= _MOST_NAMES:  # noqa: PLR2004 - fewer are not several
        for number in range(min(len(names) - 2, _MOST_KEPT) + 1):
            yield from combinations(names, number)


def loose_path(path: str) -> str:
    """Return a path without all that rules may change in it, except for moved directories."""
    if "/(" in path:
        path = SESSION_SEGMENT.sub("", path)
    path = path.lower()
    if ";" in path:
        path = _PARAMETERS.sub("", path)
    if "//" in path:
        path = _SLASHES.sub("/", path)
    path = path.removesuffix("/")
    start = path.rfind("/") + 1
    while path[start : start + 1] in INDEX_INITIALS and INDEX_FILE.fullmatch(path, start):
        path = path[: start - 1]
        start = path.rfind("/") + 1
    return path


def loose_name(path: str) -> str:
    """Return the last segment of a path's loose form.

    No rule makes two paths equal that differ in it.
    """
    return loose_path(path).rpartition("/")[2]

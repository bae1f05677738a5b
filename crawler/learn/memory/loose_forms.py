"""Loose forms: under which URLs meet that one learned rule, or a few, could make equal. Pure.

A loose form ignores all that rules may change, so it proves nothing: it only says that two URLs are
worth comparing. URLs that only a host alias or a moved directory could make equal do not meet.
"""

import re

from canonry.canon.learned import INDEX_FILE, site_of
from canonry.canon.syntax import Parts, query

_MOST_NAMES = 6
_PARAMETERS = re.compile(r";[^/]*")  # of segments (RFC 3986 section 3.3)
_SLASHES = re.compile(r"//+")


def loose_forms(parts: Parts) -> tuple[str, ...]:
    """Return the loose forms of an identity; none if no rule can be about its site.

    The first leaves out the scheme, ``www.``, letter case, parameters in the path, several slashes,
    a slash or a default document's name at the end, and the order of the query's parameters. The
    others also leave out one parameter of the query each: the last six have such forms.
    """
    site = site_of(parts)
    if not site:
        return ()
    while site.startswith("www."):
        site = site[4:]
    base = site + loose_path(parts.path)
    if not parts.query:
        return (base,)
    fields = sorted(query.fields(parts.query))
    named = [(query.name(field), field) for field in fields]
    names = dict.fromkeys(map(query.name, reversed(query.fields(parts.query))))
    forms = [f"{base}?{'&'.join(fields)}"]
    for name in list(names)[:_MOST_NAMES]:
        kept = "&".join([field for its, field in named if its != name])
        forms.append(f"{base}?{kept}" if kept else base)
    return tuple(forms)


def loose_path(path: str) -> str:
    """Return a path without what rules may change in it, but for moved directories."""
    path = path.lower()
    if ";" in path:
        path = _PARAMETERS.sub("", path)
    if "//" in path:
        path = _SLASHES.sub("/", path)
    path = path.removesuffix("/")
    while INDEX_FILE.fullmatch(path, path.rfind("/") + 1):
        path = path[: path.rfind("/")]
    return path

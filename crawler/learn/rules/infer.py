"""Infer the rewrites that explain why two URLs are equal, if any do. Pure."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from msgspec.structs import replace

from canonry.canon.learned import (
    FAMILIES,
    INDEX_FILE,
    SESSION_SEGMENT,
    SLUGS,
    Rewrite,
    act,
    is_host_name,
    is_site,
    site_of,
)
from canonry.canon.syntax import Parts, query
from canonry.crawler.admission.scope import registrable
from canonry.crawler.learn.rules.loose_forms import loose_path

# Path segments and host labels of walls. A redirect to one says nothing about which URLs are equal:
# tomorrow, or from another country, it leads elsewhere.
_WALL = re.compile(
    r"log-?in|sign-?in|log-?on|auth|oauth2?|sso|saml|accounts?|consent|cookies?|gdpr|privacy-wall|"
    r"captcha|challenge|verify|register|subscribe|paywall|maintenance|error|404|status|unavailable",
    re.IGNORECASE,
)
_MOST_PARAMETERS = 3  # in a path, of which rewrites are tried
_LOCALE = re.compile(r"[a-z]{2}(?:[-_](?:[a-z]{2}|[a-z]{4}|[0-9]{3}))?", re.IGNORECASE)
_MOST_NAMES = 6  # parameters in which two URLs may differ


def rewrites_from(source: Parts, target: Parts) -> tuple[Rewrite, ...]:
    """Return the rewrites that together turn the source into the target.

    Args:
        source: an identity that led to another, by redirect or by ``rel=canonical``.
        target: the identity that it led to.

    Returns:
        Rewrites for the source's site, in the order in which they run; empty if both are equal, or
        if no rewrites explain everything that differs.
    """
    site = site_of(source)
    if not (is_site(site) and is_site(site_of(target))):
        return ()
    all_rewrites: list[Rewrite] = []
    if source.scheme != target.scheme:
        if source.scheme != "http" or not is_host_name(site):
            return ()
        all_rewrites.append(Rewrite(site, "scheme-upgrade"))
    for read in (_of_paths, _of_queries, _of_hosts):
        rewrites = read(source, target)
        if rewrites is None:
            return ()
        all_rewrites += rewrites
    if {"host-alias", "path-prefix"} <= {rewrite.family for rewrite in all_rewrites}:
        return ()  # on another host, an equal file name is no proof
    return tuple(all_rewrites)


def _of_hosts(source: Parts, target: Parts) -> list[Rewrite] | None:
    """Return the rewrites that explain different hosts; None if none do."""
    old, new = site_of(source), site_of(target)
    if old == new:
        return []
    if not (is_host_name(old) and is_host_name(new)):
        return None
    if new == f"www.{old}" or old == f"www.{new}":
        return [Rewrite(old, "www", new=new)]
    if _WALL.fullmatch(new.partition(".")[0]) or _is_elsewhere(old, new):
        return None
    return [Rewrite(old, "host-alias", new=new)]


def _is_elsewhere(old: str, new: str) -> bool:
    """Return True if two host names look like one site for two countries or languages.

    They have one name under two country suffixes, or an added label for a language.
    """
    old_labels, new_labels = old.split("."), new.split(".")
    # As example.com and de.example.com.
    if _LOCALE.fullmatch(new_labels[0]) and new_labels[1:] in (old_labels, old_labels[1:]):
        return True
    if _LOCALE.fullmatch(old_labels[0]) and old_labels[1:] in (new_labels, new_labels[1:]):
        return True
    one, other = registrable(old), registrable(new)
    by_country = len(old_labels[-1]) == 2 or len(new_labels[-1]) == 2  # noqa: PLR2004 - ISO 3166
    return one != other and by_country and one.partition(".")[0] == other.partition(".")[0]


def _of_paths(source: Parts, target: Parts) -> list[Rewrite] | None:
    """Return the rewrites that explain different paths; None if none do."""
    if source.path == target.path:
        return []
    site = site_of(source)
    if loose_path(source.path) != loose_path(target.path):
        return _prefix(source, target) or _tidied_prefix(source, target)
    options = [*_path_parameters(source, target)]
    if "//" in source.path or options:  # without a parameter, a segment may be empty
        options.append(Rewrite(site, "double-slash"))
    options += _index_file(source)
    if source.path != source.path.lower():
        options.append(Rewrite(site, "letter-case"))
    ends = ("slash",) if target.path.endswith("/") else ("bare", "file")
    options += [Rewrite(site, "trailing-slash", new=end) for end in ends]
    for size in (1, 2, 3):
        for chosen in combinations(options, size):
            parts = source
            for rewrite in chosen:
                after = FAMILIES[rewrite.family].apply(parts, rewrite)
                if after is parts:
                    break
                parts = after
            else:
                if parts.path == target.path:
                    return list(chosen)
    return _prefix(source, target)


def _path_parameters(source: Parts, target: Parts) -> Iterator[Rewrite]:
    """Yield the rewrites that drop the parameters and sessions which only the source's path has."""
    if SESSION_SEGMENT.search(source.path):
        yield Rewrite(site_of(source), "session-segment")
    if ";" in source.path:
        for name in sorted(_names_in(source.path) - _names_in(target.path))[:_MOST_PARAMETERS]:
            yield Rewrite(site_of(source), "path-parameter", old=name)


def _names_in(path: str) -> set[str]:
    """Return the names of the parameters in a path's segments (RFC 3986 section 3.3)."""
    return {query.name(one) for segment in path.split("/") for one in segment.split(";")[1:]} - {""}


def _index_file(source: Parts) -> Iterator[Rewrite]:
    """Yield the rewrite for a default document, if a path ends with its name, or parameters."""
    name = source.path.rpartition("/")[2].partition(";")[0]
    if source.query is None and INDEX_FILE.fullmatch(name):
        yield Rewrite(site_of(source), "index-file", old=name)


def _prefix(source: Parts, target: Parts) -> list[Rewrite] | None:
    """Return the rewrite for a moved directory, if the paths end alike."""
    old, new = source.path.split("/"), target.path.split("/")
    same = 0
    while same < min(len(old), len(new)) - 1 and old[-1 - same] == new[-1 - same]:
        same += 1
    if not same or not any(old[-same:]):
        return None
    old, new = old[1:-same], new[1:-same]
    if any(";" in segment for segment in (*old, *new)):
        return None  # parameters of a path are no directories
    if _without_locale(old) == _without_locale(new) or any(map(_WALL.fullmatch, new)):
        return None
    rewrite = Rewrite(site_of(source), "path-prefix", old=_directory(old), new=_directory(new))
    return None if FAMILIES["path-prefix"].check(rewrite) else [rewrite]


def _tidied_prefix(source: Parts, target: Parts) -> list[Rewrite] | None:
    """Return the rewrites for a moved directory, together with slashes or a default document."""
    slashes, parts = Rewrite(site_of(source), "double-slash"), source
    rewrites = [slashes] if (parts := act(slashes, source)) is not source else []
    prefix = _prefix(parts, target) if rewrites else None
    for index in _index_file(source) if prefix is None else ():
        prefix = _prefix(act(index, parts), target)
        prefix = None if prefix is None else [*prefix, index]
    return None if prefix is None else rewrites + prefix


def _without_locale(segments: list[str]) -> list[str]:
    return [segment for segment in segments if not _LOCALE.fullmatch(segment)]


def _directory(segments: list[str]) -> str:
    return "".join(f"/{segment}" for segment in segments) + "/"


def _of_queries(source: Parts, target: Parts) -> list[Rewrite] | None:
    """Return the rewrite that explains the order of parameters; None if more differs."""
    order = Rewrite(site_of(source), "parameter-order")
    if source.query == target.query:
        return []
    return [order] if act(order, source).query == target.query else None


def rewrites_between(one: Parts, other: Parts) -> tuple[Rewrite, ...]:
    """Return the rewrites that explain why two URLs have the same content, in either order.

    The direction that makes URLs shorter is tried first. The parameters of both URLs are the same,
    except for their order.
    """
    first, second = sorted((one, other), key=lambda parts: (-len(str(parts)), str(parts)))
    if one[:5] == other[:5] and one.fragment == other.fragment:  # a fast path
        order = Rewrite(site_of(first), "parameter-order")
        return (order,) if first != second and act(order, first) == act(order, second) else ()
    found = _differing_path_parameter(first, second)
    return found or rewrites_from(first, second) or rewrites_from(second, first)


def _differing_path_parameter(first: Parts, second: Parts) -> tuple[Rewrite, ...]:
    """Return the rewrite that drops a parameter of the path, if only its value differs."""
    if first._replace(path=second.path) != second or not is_site(site_of(first)):
        return ()
    if SESSION_SEGMENT.search(first.path):
        rewrite = Rewrite(site_of(first), "session-segment")
        if act(rewrite, first) == act(rewrite, second) != first:
            return (rewrite,)
    for name in sorted(_names_in(first.path) & _names_in(second.path)) if ";" in first.path else ():
        rewrite = Rewrite(site_of(first), "path-parameter", old=name)
        if act(rewrite, first) == act(rewrite, second) != first:
            return (rewrite,)
    return ()


def _differing_slug(first: Parts, second: Parts) -> tuple[Rewrite, ...]:
    """Return the rule that drops the words beside an id, if nothing else differs."""
    if first.path == second.path or first._replace(path=second.path) != second:
        return ()
    rules = (Rewrite(site_of(first), "path-slug", old=old) for old in SLUGS)
    return next(((rule,) for rule in rules if act(rule, first) == act(rule, second)), ())


def as_read(parts: Parts) -> Parts:
    """Return a URL as its host reads it: with ``&`` instead of ``;`` between parameters."""
    return act(separator_of(parts), parts) if ";" in (parts.query or "") else parts


def separator_of(parts: Parts) -> Rewrite:
    """Return the rule by which a URL's site takes ``;`` for ``&``."""
    return Rewrite(site_of(parts), "parameter-separator")


def where_names_are(rewrite: Rewrite, one: Parts, other: Parts) -> Rewrite:
    """Return a rule about a parameter, limited to URLs with the other parameters of two URLs.

    Other rules stay as they are, and so does this one if these parameters differ or are none.
    """
    here, there = ({*query.names(parts.query or "")} - {rewrite.old, ""} for parts in (one, other))
    if not here or here != there or rewrite.family != "parameter-anywhere":
        return rewrite
    return replace(rewrite, family="parameter-irrelevant", beside=tuple(sorted(here)))


def rules_between(first: Parts, second: Parts, *, led: bool = False) -> tuple[Rewrite, ...]:
    """Return the rules that together make two URLs equal, each about one thing; () if none do.

    Args:
        first: an identity.
        second: another one.
        led: True if the first leads to the second by the site's own word; this gives rules about
        hosts and paths their direction.
    """
    site = site_of(first)
    if not (is_site(site) and is_site(site_of(second))) or first == second:
        return ()
    names = _differing(first, second)
    if len(names) > _MOST_NAMES:
        return ()
    rules = tuple(
        Rewrite(site, "parameter-anywhere", old=name) for name in names if name and "&" not in name
    )
    if len(rules) != len(names):
        return ()
    if rules and _kept(first, names) == _kept(second, names):
        return rules
    here, there = first, second
    for rewrite in rules:
        here, there = act(rewrite, here), act(replace(rewrite, host=site_of(second)), there)
    rest = _differing_slug(here, there)
    rest = rest or (rewrites_from(here, there) if led else rewrites_between(here, there))
    return (*rest, *rules) if rest else ()


def _kept(parts: Parts, names: list[str]) -> tuple[Parts, list[str]]:
    """Return a URL without its query, and the fields that are left without some parameters."""
    fields = query.fields(parts.query) if parts.query else ()
    kept = [field for field in fields if query.name(field) not in names]
    return parts.with_query(None), kept


def _differing(one: Parts, other: Parts) -> list[str]:
    """Return the names of the parameters whose values differ between two queries."""
    if one.query == other.query:
        return []
    here, there = (query.fields(parts.query) if parts.query else [] for parts in (one, other))
    if len(here) == len({*here}) and len(there) == len({*there}):
        return sorted({query.name(field) for field in {*here} ^ {*there}})
    more, less = Counter(here), Counter(there)
    return sorted({query.name(field) for field in (more - less) + (less - more)})


def opposite(rewrite: Rewrite) -> Rewrite:
    """Return the rule that undoes a rule; the rule itself if there is none."""
    if rewrite.family == "www":
        return replace(rewrite, host=rewrite.new, new=rewrite.host)
    turned = {"slash": "bare", "bare": "slash"}.get(rewrite.new, "")
    return (
        replace(rewrite, new=turned) if rewrite.family == "trailing-slash" and turned else rewrite
    )


def sections_of(path: str) -> Iterator[str]:
    """Yield the parts of a site to which a path belongs: the whole, and its first directory."""
    yield "/"
    end = path.find("/", 1)
    if end > 0:
        yield path[: end + 1]

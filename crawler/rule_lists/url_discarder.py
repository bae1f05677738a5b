"""The JSON files of duplicate-url-discarder-rules: patterns for URLs, each with a processor.

The format: the READMEs of duplicate-url-discarder and of url-matcher, which reads the patterns.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from canonry.canon.learned import Rewrite, is_host_name
from canonry.crawler.admission.scope import is_public_suffix
from canonry.crawler.rule_lists.conversion import Converted, Lost, no_rule
from canonry.crawler.rule_lists.scopes import UnsayableError, below_from, site_from, stays

_Scope = tuple[str, str, bool]  # host, directory, with subdomains


def convert_all(rules: list[Mapping[str, Any]]) -> Iterator[Converted]:
    """Convert each rule, once for each of its patterns and removed parameters."""
    for number, rule in enumerate(rules, 1):
        processor, arguments = rule.get("processor"), rule.get("args") or []
        pattern = rule.get("urlPattern")
        pattern = pattern if isinstance(pattern, dict) else {}
        includes = pattern.get("include")
        if not isinstance(arguments, list) or not isinstance(includes, list) or not includes:
            yield no_rule(f"rule {number}: {processor}", Lost.INVALID)
            continue
        each: list[list[Any]] = (
            [[one] for one in arguments] if processor == "queryRemoval" else [arguments]
        )
        for include in map(str, includes):
            for several in each:
                label = " ".join(map(str, (processor, include or "(every URL)", *several)))
                yield _converted(
                    f"rule {number}: {label}", processor, several, include, pattern.get("exclude")
                )


def _converted(
    name: str, processor: object, args: list[Any], include: str, exclude: object
) -> Converted:
    """Convert one rule."""
    try:
        if exclude:
            return no_rule(name, Lost.EXCEPTIONS)
        rules, lost = _rules(processor, args)
        if include == "":
            return no_rule(name, Lost.EVERY_HOST)
        scopes, left_out = _scopes(include)
    except UnsayableError as error:
        return no_rule(name, error.lost)
    rewrites = [
        Rewrite(host, rule.family, below, rule.old, rule.new, rule.beside, subdomains)
        for host, below, subdomains in scopes
        for rule in rules
    ]
    if processor == "normalizer":
        # The last scope is the widest: the domain itself.
        domain = scopes[-1][0]
        if is_host_name(domain) and not domain.startswith("www.") and scopes[-1][1] == "/":
            rewrites.append(Rewrite(f"www.{domain}", "www", new=domain))
    return Converted(name, tuple(rewrites), (*lost, *left_out))


def _rules(processor: object, args: list[Any]) -> tuple[list[Rewrite], tuple[Lost, ...]]:
    """Return the effect of a processor, as rewrites without a host, and what they leave out.

    Raises:
        UnsayableError: if our families cannot express it.
    """
    if processor == "subpathRemoval":
        raise UnsayableError(Lost.SEGMENTS)
    if processor == "normalizer" and not args:
        slashes = [Rewrite("", "trailing-slash", new=new) for new in ("bare", "file")]
        return slashes, (Lost.WWW,)
    if processor not in {"queryRemoval", "queryRemovalExcept"}:
        raise UnsayableError(Lost.INVALID)
    if not all(isinstance(name, str) and name for name in args):
        raise UnsayableError(Lost.INVALID)
    if not all(stays(name) for name in args):
        raise UnsayableError(Lost.NAMES)
    if processor == "queryRemoval":
        return [Rewrite("", "parameter-anywhere", old=name) for name in args], ()
    lost = (Lost.EMPTY,) if args else ()
    return [Rewrite("", "query-selection", beside=tuple(sorted(set(args))))], lost


def _scopes(include: str) -> tuple[list[_Scope], tuple[Lost, ...]]:
    """Return the scopes of a pattern, and what they leave out.

    A host without a path includes its subdomains; with a path, only itself and ``www.``.

    Raises:
        UnsayableError: if our rules cannot have exactly this scope.
    """
    if "://" in include or include.startswith("//"):
        raise UnsayableError(Lost.SCHEME)
    if "?" in include or "#" in include:
        raise UnsayableError(Lost.QUERY)
    host, slash, path = include.partition("/")
    if "*" in host or "|" in host:
        raise UnsayableError(Lost.HOSTS)
    if "*" in path or "|" in path:
        raise UnsayableError(Lost.PATH)
    site = site_from(host)
    if not slash:
        # url-matcher looks only below registrable domains, so a public suffix has no subdomains.
        wide = is_host_name(site) and not is_public_suffix(site)
        return [(site, "/", wide)], () if wide else (Lost.SUBDOMAINS,)
    below, lost = below_from(slash + path)
    sites = [f"www.{site}", site] if is_host_name(site) and not is_public_suffix(site) else [site]
    return [(one, below, False) for one in sites], lost

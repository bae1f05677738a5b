"""ClearURLs' data.min.json: providers, each with a pattern for URLs and names of parameters.

The format: docs.clearurls.xyz, "Rule Catalogs". A rule is a case-insensitive regular expression for
the whole name of a parameter that is removed.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from canonry.canon.learned import Rewrite
from canonry.crawler.rule_lists.conversion import Converted, Lost, no_rule
from canonry.crawler.rule_lists.finite import listed
from canonry.crawler.rule_lists.scopes import (
    UnsayableError,
    below_from,
    domain_from,
    site_from,
    spellings,
)

_SUBDOMAINS = r"(?:[a-z0-9-]+\.)*?"
_SCHEMES = "https?://"


def convert_all(providers: Mapping[str, Any]) -> Iterator[Converted]:
    """Convert each rule of each provider."""
    for name, provider in providers.items():
        if not isinstance(provider, dict):
            yield no_rule(name, Lost.INVALID)
            continue
        yield from _of_provider(name, provider)


def _of_provider(name: str, provider: Mapping[str, Any]) -> Iterator[Converted]:
    """Convert the rules of a provider."""
    if provider.get("completeProvider"):
        yield no_rule(f"{name}: completeProvider", Lost.BLOCKS)
    for key, lost in (("rawRules", Lost.PATTERN), ("redirections", Lost.TARGET)):
        for rule in _texts(provider, key):
            yield no_rule(f"{name}: {key}: {rule}", lost)
    rules = [rule for key in ("rules", "referralMarketing") for rule in _texts(provider, key)]
    try:
        scopes, lost_there = _scopes(provider)
    except UnsayableError as error:
        yield from (no_rule(f"{name}: {rule}", error.lost) for rule in rules)
        return
    for rule in rules:
        label = f"{name}: {rule}"
        try:
            yield _converted(label, scopes, listed(rule, Lost.NAMES), lost_there)
        except UnsayableError as error:
            yield no_rule(label, error.lost)


def _converted(
    name: str, scopes: list[Rewrite], names: tuple[str, ...], lost: tuple[Lost, ...]
) -> Converted:
    """Return a rule for each scope and each name of a parameter."""
    rewrites: list[Rewrite] = []
    more: list[Lost] = list(lost)
    for parameter in names:
        if not parameter or not parameter.isascii():
            raise UnsayableError(Lost.NAMES)
        written, left_out = spellings(parameter)
        more += left_out
        rewrites += [
            Rewrite(
                scope.host,
                "parameter-anywhere",
                scope.below,
                old=text.lower(),
                new="any-case",
                subdomains=scope.subdomains,
            )
            for scope in scopes
            for text in written
        ]
    return Converted(name, tuple(dict.fromkeys(rewrites)), tuple(dict.fromkeys(more)))


def _texts(provider: Mapping[str, Any], key: str) -> list[str]:
    """Return a provider's list as distinct texts; items that are not texts fail later."""
    given = provider.get(key)
    return list(dict.fromkeys(map(str, given))) if isinstance(given, list) else []


def _scopes(provider: Mapping[str, Any]) -> tuple[list[Rewrite], tuple[Lost, ...]]:
    """Return the scopes of a provider's rules, as rewrites without a family, and what is lost.

    Raises:
        UnsayableError: if our rules cannot have exactly this scope.
    """
    pattern = provider.get("urlPattern")
    if not isinstance(pattern, str):
        raise UnsayableError(Lost.INVALID)
    unescaped = pattern.replace("\\/", "/").removeprefix("^")
    if unescaped in {"", ".*", ".+"}:
        raise UnsayableError(Lost.EVERY_HOST)
    if provider.get("exceptions"):
        raise UnsayableError(Lost.EXCEPTIONS)
    # Redirections and raw rules read the URL before parameters are removed from it.
    if provider.get("redirections"):
        raise UnsayableError(Lost.TARGET)
    if provider.get("rawRules"):
        raise UnsayableError(Lost.PATTERN)
    if not unescaped.startswith(_SCHEMES):
        raise UnsayableError(Lost.PATTERN)
    rest = unescaped.removeprefix(_SCHEMES)
    wide = rest.startswith(_SUBDOMAINS)
    hosts, slash, path = rest.removeprefix(_SUBDOMAINS).partition("/")
    if hosts.count("(") != hosts.count(")"):
        raise UnsayableError(Lost.PATTERN)
    belows = [below_from(slash + one) for one in listed(path, Lost.PATH)]
    names = listed(hosts, Lost.HOSTS, dots=True)
    sites = [domain_from(host) if wide else site_from(host) for host in names]
    lost = dict.fromkeys([Lost.OPEN_END, *(lost for _, left_out in belows for lost in left_out)])
    found = [Rewrite(site, "", below, subdomains=wide) for site in sites for below, _ in belows]
    return found, tuple(lost)

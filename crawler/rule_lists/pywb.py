"""pywb's rules.yaml: fuzzy rules, by which a replay finds a capture whose URL differs a little.

The format: pywb's docs, "Fuzzy Match Rules", and its `FuzzyMatcher`. Rules apply to SURT keys in
lower case, with sorted parameters. The first rule counts that matches and has a prefix of the key.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from canonry.canon.learned import Rewrite, is_host_name
from canonry.crawler.rule_lists.conversion import Converted, Lost, no_rule
from canonry.crawler.rule_lists.scopes import UnsayableError, below_from, site_from

_PLAIN_NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-._~")


def convert_all(whole: Mapping[str, Any]) -> Iterator[Converted]:
    """Convert each rule, once for each of its prefixes."""
    filters = whole.get("default_filters")
    normal = filters.get("url_normalize") if isinstance(filters, dict) else None
    for rule in normal if isinstance(normal, list) else []:
        shown = rule.get("match") if isinstance(rule, dict) else rule
        yield no_rule(f"url_normalize: {shown}", Lost.EVERY_HOST)
    earlier: list[str] = []
    for number, rule in enumerate(whole["rules"], 1):
        prefixes = rule.get("url_prefix")
        prefixes = prefixes if isinstance(prefixes, list) else [prefixes]
        for prefix in map(str, prefixes):
            name = f"rule {number}: {prefix or '(every URL)'}"
            yield _converted(name, prefix, rule, earlier)
        if rule.get("fuzzy_lookup"):
            earlier += map(str, prefixes)


def _converted(
    name: str, prefix: str, rule: Mapping[str, Any], earlier: Sequence[str]
) -> Converted:
    """Convert one rule for one prefix."""
    lookup = rule.get("fuzzy_lookup")
    if rule.get("canonicalize"):
        return no_rule(name, Lost.PATTERN)
    if not lookup:
        return no_rule(name, Lost.CONTENT)
    try:
        names = _selecting(lookup)
        if not prefix:
            return no_rule(name, Lost.EVERY_HOST)
        hosts, below, lost = _scope(prefix)
        if any(prefix.startswith(one) or one.startswith(prefix) for one in earlier):
            return no_rule(name, Lost.EXCEPTIONS)
    except UnsayableError as error:
        return no_rule(name, error.lost)
    rules = [Rewrite(host, "query-selection", below, beside=names) for host in hosts]
    return Converted(name, tuple(rules), (*lost, *((Lost.EMPTY,) if names else ())))


def _selecting(lookup: object) -> tuple[str, ...]:
    """Return the names of the parameters that select content; none if the query does not.

    Raises:
        UnsayableError: if the rule says anything else.
    """
    match = lookup
    if isinstance(lookup, dict):
        if lookup.keys() - {"match", "replace"} or lookup.get("replace", "?") != "?":
            raise UnsayableError(Lost.PATTERN)
        match = lookup.get("match")
    if match == "()":
        return ()
    if not isinstance(match, list) or not match:
        raise UnsayableError(Lost.PATTERN)
    names = tuple(sorted(set(map(str, match))))
    if any(name != name.lower() for name in names):
        raise UnsayableError(Lost.NEVER)
    in_key = tuple(sorted(names, key=lambda name: f"{name}="))  # the order that the rule expects
    if in_key != names or not all(name and _PLAIN_NAME.issuperset(name) for name in names):
        raise UnsayableError(Lost.NAMES)
    return names


def _scope(prefix: str) -> tuple[tuple[str, ...], str, tuple[Lost, ...]]:
    """Return the hosts and the directory of a prefix of keys, and what is left out.

    Keys have no ``www.``, so a host is returned with it and without.

    Raises:
        UnsayableError: if our rules cannot have exactly this scope.
    """
    reversed_host, closed, path = prefix.partition(")")
    if not closed or reversed_host.endswith(","):
        raise UnsayableError(Lost.HOSTS)
    if prefix != prefix.lower():
        raise UnsayableError(Lost.NEVER)
    if path and not path.endswith("/"):
        raise UnsayableError(Lost.PATH)
    below, lost = below_from(path)
    host = site_from(".".join(reversed(reversed_host.split(","))))
    if not is_host_name(host):
        raise UnsayableError(Lost.HOSTS)
    return (host, f"www.{host}"), below, (*lost, Lost.OPEN_END)

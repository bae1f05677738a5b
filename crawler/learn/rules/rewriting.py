"""Rewriting: what learned rules make of many URLs at once."""

from collections.abc import Iterable, Sequence

from canonry.canon import Canonical, Canonicalizer
from canonry.canon.learned import RuleSet, RuleStep, follow, site_in
from canonry.canon.syntax import Parts
from canonry.storage.learned.classes import Rewritten

_AUTHORITY = len("https://")  # it begins no later than here


def by_start(identities: Sequence[str]) -> dict[str, list[int]]:
    """Return the places of identities, by a beginning that tells their site: all before the path.

    It may be longer where there is no path.
    """
    found: dict[str, list[int]] = {}
    start, end, places = "", 0, list[int]()
    for place, identity in enumerate(identities):
        if not end or not identity.startswith(start):  # mostly as the one before
            end = identity.find("/", _AUTHORITY) + 1
            start = identity[:end] or identity
            places = found.setdefault(start, [])
        places.append(place)
    return found


def identities(canonicalizer: Canonicalizer, urls: list[str]) -> list[str]:
    """Return the identities of URLs that a store knows."""
    return [form.identity for form in _forms(canonicalizer, urls)]


def rewrite_many(
    rules: RuleSet, canonicalizer: Canonicalizer, urls: list[str]
) -> list[Rewritten | None]:
    """Return what rules make of URLs that a store knows; None for those that they do not change.

    Nearly always each rule acts once, and no rule would change the result. Only else is it
    followed, one by one: that is the plain truth.

    Args:
        rules: the active ones are applied.
        canonicalizer: makes identities, without learned rules.
        urls: texts that have a canonical form.
    """
    plain = identities(canonicalizer, urls)
    texts = plain.copy()
    used: dict[int, tuple[str, ...]] = {}  # ids of rules, by the place of the URL
    for start, places in by_start(plain).items():
        _apply(rules.steps_on(site_in(start)), places, texts, used)
    forms = _forms(canonicalizer, [texts[place] for place in used])
    doubtful = _that_may_change(rules, [form.identity for form in forms])
    found: list[Rewritten | None] = [None] * len(urls)
    for number, ((place, ids), form) in enumerate(zip(used.items(), forms, strict=True)):
        if number in doubtful:
            found[place] = _followed(rules, canonicalizer, plain[place])
        else:
            found[place] = Rewritten(form.identity, form.key, ids, plain[place])
    return found


def _apply(
    steps: Iterable[RuleStep], places: list[int], texts: list[str], used: dict[int, tuple[str, ...]]
) -> None:
    """Apply each of some rules once to identities of a site.

    Args:
        steps: what the rules do, in their order.
        places: of the identities.
        texts: by place the identities; they are replaced by what the rules make of them.
        used: receives by place the ids of the rules that have changed it.
    """
    split: dict[int, Parts] = {}
    for rule, mark, apply, below, moves_host in steps:
        name = (rule.id,)
        moved = set[int]()
        for place in [place for place in places if mark(texts[place])]:
            parts = split.get(place) or Parts.of(texts[place])
            after = apply(parts, rule)
            if after is not parts and parts.path.startswith(below):
                texts[place] = str(after)
                used[place] = used[place] + name if place in split else name
                split[place] = after
                if moves_host:
                    moved.add(place)
        if moved:
            places = [place for place in places if place not in moved]


def _that_may_change(rules: RuleSet, made: Sequence[str]) -> set[int]:
    """Return the places of identities that rules may change; they change none of the others."""
    found: set[int] = set()
    for start, places in by_start(made).items():
        for step in rules.steps_on(site_in(start)):
            mark = step.mark
            found.update([place for place in places if mark(made[place])])
    return found


def _followed(rules: RuleSet, canonicalizer: Canonicalizer, plain: str) -> Rewritten | None:
    """Return what rules make of an identity, step by step; None if they do not change it."""
    identity, changes = follow(rules, plain, canonicalizer.identity)
    if not changes:
        return None
    ids = tuple(dict.fromkeys([rule.id for rule, _before, _after in changes]))
    return Rewritten(identity, canonicalizer.key_of(identity), ids, plain)


def _forms(canonicalizer: Canonicalizer, urls: list[str]) -> list[Canonical]:
    """Return the canonical forms of URLs.

    Raises:
        InvalidURL: one has none.
    """
    return [
        form if isinstance(form, Canonical) else canonicalizer(url)
        for form, url in zip(canonicalizer.many(urls), urls, strict=True)
    ]

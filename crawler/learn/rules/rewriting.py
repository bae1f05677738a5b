"""Rewriting: what learned rules make of many URLs at once."""

from collections.abc import Iterable

from canonry.canon import Canonical, Canonicalizer
from canonry.canon.learned import RuleSet, RuleStep, follow, site_in
from canonry.canon.syntax import Parts
from canonry.storage.learned.classes import Rewritten

_AUTHORITY = len("https://")  # it begins no later than here


def start_of(identity: str) -> str:
    """Return a beginning of an identity that tells its site: all before the path, or more."""
    return identity[: identity.find("/", _AUTHORITY) + 1] or identity


class _Steps(dict[str, tuple[RuleStep, ...]]):
    """What active rules do, by the start of a URL: looked up once for all URLs of a site."""

    def __init__(self, rules: RuleSet) -> None:
        """Bind rules."""
        self._rules = rules

    def __missing__(self, start: str) -> tuple[RuleStep, ...]:
        """Look up what the rules do that cover the site of a URL with some start."""
        steps = self[start] = self._rules.steps_on(site_in(start))
        return steps


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
    steps = _Steps(rules)
    plain = identities(canonicalizer, urls)
    places: list[int] = []
    texts: list[str] = []
    used: list[tuple[str, ...]] = []
    for place, identity in enumerate(plain):
        text, parts = identity, None
        ids: tuple[str, ...] = ()
        for rule, mark, apply, below, moves_host in steps[start_of(identity)]:
            if not mark(text):
                continue
            if parts is None:
                parts = Parts.of(text)
            after = apply(parts, rule)
            if after is not parts and parts.path.startswith(below):
                text, parts = str(after), after
                ids = (*ids, rule.id) if ids else (rule.id,)
                if moves_host:
                    break
        if ids:
            places.append(place)
            texts.append(text)
            used.append(ids)
    found: list[Rewritten | None] = [None] * len(urls)
    for place, form, ids in zip(places, _forms(canonicalizer, texts), used, strict=True):
        _url, identity, key = form
        if _may_change(steps[start_of(identity)], identity):
            found[place] = _followed(rules, canonicalizer, plain[place])
        else:
            found[place] = Rewritten(identity, key, ids, plain[place])
    return found


def _may_change(steps: Iterable[RuleStep], identity: str) -> bool:
    """Return False if no step changes an identity."""
    for step in steps:  # noqa: SIM110 - a generator takes longer than the marks
        if step.mark(identity):
            return True
    return False


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

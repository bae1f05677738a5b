"""Rewriting: what learned rules make of many URLs at once."""

from collections.abc import Iterable, Iterator, Sequence

from canonry.canon import Canonical, Canonicalizer
from canonry.canon.learned import RuleSet, RuleStep, follow, names_in, site_in
from canonry.canon.syntax import Parts
from canonry.storage.learned.classes import Rewritten

_FEW = 3  # rules about parameters of a site: fewer are looked at one by one
_AUTHORITY = len("https://")  # it begins no later than here
_WORTHWHILE = 3  # URLs, for which it is worth to prepare the steps of their sites


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
    if len(urls) < _WORTHWHILE:
        return [_followed(rules, canonicalizer, canonicalizer.identity(url)) for url in urls]
    plain = identities(canonicalizer, urls)
    texts = plain.copy()
    used: dict[int, tuple[str, ...]] = {}  # ids of rules, by the place of the URL
    for start, places in by_start(plain).items():
        _apply(_StepsByNames(rules.steps_on(site_in(start))), places, texts, used)
    forms = _forms(canonicalizer, [texts[place] for place in used])
    doubtful = _that_may_change(rules, [form.identity for form in forms])
    found: list[Rewritten | None] = [None] * len(urls)
    for number, ((place, ids), form) in enumerate(zip(used.items(), forms, strict=True)):
        if number in doubtful:
            found[place] = _followed(rules, canonicalizer, plain[place])
        else:
            found[place] = Rewritten(form.identity, form.key, ids, plain[place])
    return found


class _StepsByNames:
    """The steps of a site, by the names of the parameters of the URLs that they may change.

    A site may have dozens of rules about parameters, and each is for URLs with certain names.

    Attributes:
        has_many: True if there are more of these than a few.
    """

    def __init__(self, steps: Iterable[RuleStep]) -> None:
        self._steps = list(enumerate(steps))
        self._by_names: dict[frozenset[str], list[tuple[int, RuleStep]]] = {}
        named = sum(step.names is not None for _place, step in self._steps)
        self.has_many = named > _FEW
        self._others = self._with(frozenset()) if self.has_many else self._steps

    def of(self, text: str) -> list[tuple[int, RuleStep]]:
        """Return the steps that may change an identity, each with its place in their order."""
        if not self.has_many or "?" not in text:
            return self._others
        names = names_in(text)
        found = self._by_names.get(names)
        if found is None:
            found = self._by_names[names] = self._with(names)
        return found

    def _with(self, names: frozenset[str]) -> list[tuple[int, RuleStep]]:
        """Return the steps that may change identities whose parameters have some names."""
        return [one for one in self._steps if one[1].names in {None, names}]


def _apply(
    steps: _StepsByNames, places: Iterable[int], texts: list[str], used: dict[int, tuple[str, ...]]
) -> None:
    """Apply each of some rules once to identities of a site.

    Args:
        steps: what the rules do.
        places: of the identities.
        texts: by place the identities; they are replaced by what the rules make of them.
        used: receives by place the ids of the rules that have changed it.
    """
    for place in places:
        text, ids = _applied(steps, texts[place])
        if ids:
            texts[place], used[place] = text, ids


def _applied(steps: _StepsByNames, text: str) -> tuple[str, tuple[str, ...]]:
    """Apply each of some rules once to an identity.

    A rule that moves it to another host is the last one.

    Args:
        steps: what the rules do.
        text: the identity.

    Returns:
        What the rules make of it, and the ids of those that have changed it.
    """
    left, parts = 0, None
    ids: tuple[str, ...] = ()
    while True:
        for place, (rule, mark, apply, below, moves_host, _names) in steps.of(text):
            if place < left or not mark(text):  # most identities need not be split
                continue
            before = parts or Parts.of(text)
            after = apply(before, rule)
            if after is not before and before.path.startswith(below):
                left, text, parts, ids = place + 1, str(after), after, (*ids, rule.id)
                if moves_host:
                    return text, ids
                if steps.has_many:  # others are left for the names that it has now
                    break
            else:
                parts = before
        else:
            return text, ids


def _that_have_marks(
    steps: _StepsByNames, places: Iterable[int], texts: Sequence[str]
) -> Iterator[int]:
    """Yield the places of identities that a step may change; steps change none of the others."""
    for place in places:
        text = texts[place]
        for _number, step in steps.of(text):
            if step.mark(text):
                yield place
                break


def _that_may_change(rules: RuleSet, made: Sequence[str]) -> set[int]:
    """Return the places of identities that rules may change; they change none of the others."""
    found: set[int] = set()
    for start, places in by_start(made).items():
        steps = _StepsByNames(rules.steps_on(site_in(start)))
        found.update(_that_have_marks(steps, places, made))
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

"""Rewriting: learned rules, applied to many identities at once."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from canonry.canon.learned import RuleSet, RuleStep, follow, is_marked, names_in, site_in
from canonry.canon.pipeline.canonical import Canonical, Refused
from canonry.canon.syntax import Parts

if TYPE_CHECKING:
    from canonry.canon.pipeline.canonicalizer import Canonicalizer

_FEW = 3  # up to this many parameter rules of a site are tried one by one
_AUTHORITY = len("https://")  # it begins no later than here
_WORTHWHILE = 3  # from this many identities on, preparing the steps of their sites saves time


class Rewritten(NamedTuple):
    """What learned rules make of a URL: the identity, its key, and the ids of the rules used."""

    identity: str
    key: bytes
    rules: tuple[str, ...]
    source: str = ""  # the identity without rules


def rewrite_many(
    rules: RuleSet, canonicalizer: "Canonicalizer", identities: Sequence[str]
) -> list[Rewritten | None]:
    """Apply rules to identities; return None for those that they do not change.

    Nearly always it is enough to apply each rule once. If a rule might change the result again, the
    rules are followed one by one, which decides.

    Args:
        rules: the active ones are applied.
        canonicalizer: made the identities, without learned rules.
        identities: some texts.
    """
    if len(identities) < _WORTHWHILE:
        return [followed(rules, canonicalizer, identity) for identity in identities]
    changed: dict[int, tuple[str, tuple[str, ...]]] = {}  # by place
    for steps, places in _by_site(rules, identities):
        for place in places:
            text, ids = _applied(steps, identities[place])
            if ids:
                changed[place] = text, ids
    forms = forms_of(canonicalizer, [text for text, _ids in changed.values()])
    made = [form.identity for form in forms]
    doubtful = {
        place
        for steps, places in _by_site(rules, made)
        for place in places
        if is_marked([step for _number, step in steps.of(made[place])], made[place])
    }
    rewritten: list[Rewritten | None] = [None] * len(identities)
    for number, ((place, (_text, ids)), form) in enumerate(
        zip(changed.items(), forms, strict=True)
    ):
        if number in doubtful:
            rewritten[place] = followed(rules, canonicalizer, identities[place])
        else:
            rewritten[place] = Rewritten(form.identity, form.key, ids, identities[place])
    return rewritten


def with_rules(
    rules: RuleSet, canonicalizer: "Canonicalizer", urls: list[str | bytes]
) -> list[Canonical | Refused]:
    """Return canonical forms after rules were applied to their identities, or refusals."""
    forms = list(canonicalizer.many(urls))
    plain = [form.identity for form in forms if isinstance(form, Canonical)]
    made = iter(rewrite_many(rules, canonicalizer, plain))
    return [
        Canonical(form.url, found.identity, found.key)
        if isinstance(form, Canonical) and (found := next(made)) is not None
        else form
        for form in forms
    ]


def forms_of(canonicalizer: "Canonicalizer", urls: list[str]) -> list[Canonical]:
    """Return the canonical forms of URLs that have one.

    Raises:
        InvalidURL: one has none.
    """
    return [
        form if isinstance(form, Canonical) else canonicalizer(url)
        for form, url in zip(canonicalizer.many(urls), urls, strict=True)
    ]


def by_start(identities: Sequence[str]) -> dict[str, list[int]]:
    """Return the places of identities, grouped by all before the path, which determines the site.

    An identity without a path is grouped by its whole text.
    """
    places_by_start: dict[str, list[int]] = {}
    start, end, places = "", 0, list[int]()
    for place, identity in enumerate(identities):
        if not end or not identity.startswith(start):  # mostly it is on the same site
            end = identity.find("/", _AUTHORITY) + 1
            start = identity[:end] or identity
            places = places_by_start.setdefault(start, [])
        places.append(place)
    return places_by_start


class _StepsByNames:
    """The steps of a site, indexed by the parameter names of the URLs that they may change.

    A site may have dozens of parameter rules, and each is for URLs with certain names.

    Attributes:
        has_many: True if there are more than `_FEW` parameter rules.
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
        """Return the steps that may change identities with exactly these parameter names."""
        return [one for one in self._steps if one[1].names in {None, names}]


def _by_site(
    rules: RuleSet, identities: Sequence[str]
) -> Iterator[tuple[_StepsByNames, list[int]]]:
    """Yield the steps of each site that rules cover, and the places of its identities."""
    for start, places in by_start(identities).items():
        if steps := rules.steps_on(site_in(start)):
            yield _StepsByNames(steps), places


def _applied(steps: _StepsByNames, text: str) -> tuple[str, tuple[str, ...]]:
    """Apply each step once to an identity, up to one that moves it to another host.

    Args:
        steps: those of the identity's site.
        text: the identity.

    Returns:
        The result, and the ids of the rules that changed the identity.
    """
    left, parts = 0, None
    ids: tuple[str, ...] = ()
    while True:
        for place, (rule, prefilter, apply, below, moves_host, _names) in steps.of(text):
            if place < left or not prefilter(text):  # most identities need not be split
                continue
            before = parts or Parts.of(text)
            after = apply(before, rule)
            if after is not before and before.path.startswith(below):
                left, text, parts, ids = place + 1, str(after), after, (*ids, rule.id)
                if moves_host:
                    return text, ids
                if steps.has_many:  # look up the steps for its new parameter names
                    break
            else:
                parts = before
        else:
            return text, ids


def followed(rules: RuleSet, canonicalizer: "Canonicalizer", plain: str) -> Rewritten | None:
    """Follow rules from an identity, one by one; return None if they do not change it."""
    identity, changes = follow(rules, plain, canonicalizer.identity)
    if not changes:
        return None
    ids = tuple(dict.fromkeys([rule.id for rule, _before, _after in changes]))
    return Rewritten(identity, canonicalizer.key_of(identity), ids, plain)

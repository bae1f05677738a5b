"""What each rule changed, from a text to its identity: the steps of a trace."""

from collections.abc import Iterator, Sequence

from canonry.canon.rules.repair import REPAIRS, RESOLVE, URL_STANDARD
from canonry.canon.rules.rule import Change
from canonry.canon.rules.table import Step
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.uri import split


def changes_of_uri(text: str, read: str, steps: Sequence[Step]) -> Iterator[Change]:
    """Yield the changes that lead from a text to its identity, rule by rule.

    Args:
        text: what was given, perhaps a reference.
        read: the same, resolved.
        steps: those of the policy.
    """
    if read != text:
        yield Change.by(RESOLVE, text, read)
    yield from _changes_by(steps, read)


def changes_of_url(
    text: str, read: str, identity: str, steps: Sequence[Step], *, has_base: bool
) -> Iterator[Change]:
    """Yield the same for a dialect of browsers.

    A browser's parser repairs, resolves and normalizes in one pass. If our rules alone lead to
    the same identity, they describe that pass; if not, `URL_STANDARD` stands for it.
    """
    repairs = list(_repairs_from(text))
    repaired = repairs[-1].after if repairs else text
    if has_base and split(repaired).scheme is None:
        yield from repairs
        yield Change.by(RESOLVE, repaired, read)
        yield from _changes_by(steps, read)
        return
    found = list(_changes_by(steps, repaired))
    if (found[-1].after if found else repaired) != identity:
        standard = [Change.by(URL_STANDARD, repaired, read)] if repaired != read else []
        found = standard + list(_changes_by(steps, read))
    yield from repairs
    yield from found


def _changes_by(steps: Sequence[Step], text: str) -> Iterator[Change]:
    """Run the steps over a text; yield a change for each step that acted."""
    parts = Parts.of(text)
    for step in steps:
        after = step.apply(parts)
        if after is not parts:
            yield Change.by(step, str(parts), str(after))
            parts = after


def _repairs_from(text: str) -> Iterator[Change]:
    """Run the repairs over a text; yield a change for each repair that acted."""
    for repair in REPAIRS:
        after = repair.apply(text)
        if after != text:
            yield Change.by(repair, text, after)
            text = after

"""What the pipeline returns: canonical forms, refusals, and traces of what each rule did."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from canonry.canon.errors import Reason
from canonry.canon.inspect.cautions import Caution, cautions
from canonry.canon.policies.policy import versioned_name
from canonry.canon.rules.repair import REPAIRS, RESOLVE, URL_STANDARD
from canonry.canon.rules.rule import Change
from canonry.canon.rules.table import Step
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.uri import split


class Canonical(NamedTuple):
    """The canonical form of a URL.

    ``url`` is what to request: what a browser would request, without the fragment; no rule changes
    it. ``identity`` is what to compare, as text; ``key`` is its 16 bytes under the policy.
    """

    url: str
    identity: str
    key: bytes


class Refused(NamedTuple):
    """A text that has no canonical form, and the reason."""

    text: str
    reason: Reason
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """How one URL got its identity.

    ``steps`` holds the rules that acted, in order. Each starts where the previous one ended; the
    last one ends at ``identity``.
    """

    text: str
    policy: str
    url: str
    identity: str
    key: bytes
    steps: tuple[Change, ...]

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """Return the reasons to look twice at the URL (RFC 3986 section 7)."""
        return cautions(self.text if split(self.text).scheme else self.url)

    def __str__(self) -> str:
        """Return the steps as text for people, as ``canonry explain`` prints them."""
        lines = [self.text]
        for step in self.steps:
            note = "" if step.lossless else " (a heuristic)"
            lines += ["", f"  {step.name}{note}  {step.why}"]
            lines += [f"    - {step.before}", f"    + {step.after}"]
            lines += [f"    {step.cites}, rung: {step.rung.name.lower()}"]
        if not self.steps:
            lines += ["", "  no rule changes it: it is canonical"]
        lines += ["", f"  request   {self.url}", f"  identity  {self.identity}"]
        lines += [f"  key       {self.key.hex()}  (policy {versioned_name(self.policy)})"]
        lines += [f"  caution   {caution.value}" for caution in self.cautions]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, with the key in hexadecimal and rungs by name."""
        return {
            "text": self.text,
            "policy": self.policy,
            "url": self.url,
            "identity": self.identity,
            "key": self.key.hex(),
            "cautions": [caution.value for caution in self.cautions],
            "steps": [
                {
                    "name": step.name,
                    "before": step.before,
                    "after": step.after,
                    "rung": step.rung.name.lower(),
                    "cites": step.cites,
                    "lossless": step.lossless,
                    "why": step.why,
                }
                for step in self.steps
            ],
        }


def changed_part(before: str, after: str) -> tuple[str, str]:
    """Return what a change removed and what it inserted, without the common ends."""
    head, tail = common_ends(before, after)
    return before[head : len(before) - tail], after[head : len(after) - tail]


def common_ends(before: str, after: str) -> tuple[int, int]:
    """Return the lengths of the common start and of the common end of two texts."""
    most = min(len(before), len(after))
    head = 0
    while head < most and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < most - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return head, tail


def changes_of_uri(text: str, read: str, steps: Sequence[Step]) -> Iterator[Change]:
    """Yield the changes that lead from a text to its identity, rule by rule.

    Args:
        text: a URL or a reference.
        read: the text, resolved.
        steps: those of the policy.
    """
    if read != text:
        yield Change.by(RESOLVE, text, read)
    yield from _changes_by(steps, read)


def changes_of_url(
    text: str, read: str, identity: str, steps: Sequence[Step], *, has_base: bool
) -> Iterator[Change]:
    """Yield the changes that lead from a text to its identity, in the dialect of browsers.

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

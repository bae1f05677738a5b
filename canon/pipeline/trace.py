"""Traces: what each rule did to one URL."""

from dataclasses import dataclass
from typing import Any

from canonry.canon.inspect.cautions import Caution, cautions
from canonry.canon.rules.rule import Change
from canonry.canon.syntax.uri import split


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

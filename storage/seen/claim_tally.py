"""What claims of keys met: counted by the process that claims, until it is written."""

from dataclasses import dataclass


@dataclass(slots=True)
class ClaimTally:
    """Counts of claims, updated in place."""

    claims: int = 0  # keys
    passed: int = 0  # new keys of which the filter said "surely not known"
    wrong: int = 0  # new keys of which it said "perhaps known"

    def clear(self) -> None:
        """Set all counts to zero."""
        self.claims = self.passed = self.wrong = 0

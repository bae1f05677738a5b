"""Reports of learned rules: what is said of each in a run."""

from canonry.canon.learned import RuleState, describe
from canonry.crawler.plurals import agreement
from canonry.storage.learned.tracked_rule import TrackedRule

_AGAIN = "again"  # it was reported that a rule has a state once more


class RuleReports:
    """What is reported of rules in a run: each state once, and once that a rule comes and goes."""

    def __init__(self) -> None:
        """Start with nothing reported."""
        self._states: dict[str, set[str]] = {}  # by the ids of rules

    def sentence(self, rule: TrackedRule, before: RuleState) -> str | None:
        """Return what to report of a rule whose state has changed; None if it was reported."""
        states = self._states.setdefault(rule.id, set())
        is_again, is_known = rule.state in states, _AGAIN in states
        states |= {rule.state, _AGAIN} if is_again else {rule.state}
        if not is_again:
            return (
                f"rule {rule.id} is {rule.state} (was {before}): "
                f"{describe(rule.rewrite)}; {agreement(rule.agree, rule.disagree)}"
            )
        if is_known:
            return None
        return (
            f"rule {rule.id} is {rule.state} again (was {before}); further changes of it are not "
            f"reported in this run ('canonry rules show {rule.id}')"
        )

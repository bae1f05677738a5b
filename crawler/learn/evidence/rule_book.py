"""The rule book: the rules of sites, what was counted for them, and which have changed."""

from collections.abc import Collection

from msgspec.structs import replace

from canonry.canon.learned import FAMILIES, Rewrite, without_port
from canonry.canon.syntax import Parts
from canonry.crawler.learn.memory.site_memory import SiteMemory
from canonry.crawler.learn.tallies.tally import RuleTally
from canonry.storage.learned.tracked_rule import Counts, TrackedRule

_PART = 5  # clean paths for a rule about a part of a site


class RuleBook:
    """The rules of sites, and which of them have new evidence."""

    def __init__(self, memory: SiteMemory) -> None:
        """Start with what is remembered."""
        self._memory = memory
        self._changed: dict[Rewrite, TrackedRule] = {}

    def forget(self) -> None:
        """Forget which rules have new evidence."""
        self._changed.clear()

    def forget_hosts(self, hosts: Collection[str]) -> None:
        """Forget which rules of some hosts have new evidence."""
        for rewrite in [said for said in self._changed if without_port(said.host) in hosts]:
            del self._changed[rewrite]

    def take_changed(self) -> list[TrackedRule]:
        """Return the rules with new evidence, once."""
        changed, self._changed = list(self._changed.values()), {}
        return changed

    def mark_changed(self, rule: TrackedRule) -> None:
        """Remember that a rule is to be decided on, and saved."""
        self._changed[rule.rewrite] = rule

    def is_changed(self, rewrite: Rewrite) -> bool:
        """Return True if a rule is to be decided on."""
        return rewrite in self._changed

    def put(self, rule: TrackedRule) -> None:
        """Put a rule back in the book, after the evidence of its site was counted anew.

        What the rule had counted before still counts.
        """
        self.recount(rule)
        self._memory.site(rule.rewrite.host).rules[rule.rewrite] = rule
        self._changed.pop(rule.rewrite, None)

    def recount(self, rule: TrackedRule) -> None:
        """Let a rule count what its tally counts, and what it had counted without it."""
        tally = self.tally_of(rule)
        rule.restart(Counts() if tally is None else tally.totals(part_of(rule.rewrite)))

    def rule(self, rewrite: Rewrite) -> TrackedRule:
        """Return the rule that says something; add it as a candidate if there is none."""
        rules = self._memory.site(rewrite.host).rules
        rule = rules.get(rewrite)
        if rule is None:
            rule = rules[rewrite] = TrackedRule(rewrite)
        return rule

    def remove_unfounded(self, rule: TrackedRule) -> bool:
        """Remove a candidate for which nothing speaks (any more); return True if it was one."""
        if rule.state != "candidate" or rule.agree or rule.hsts:
            return False
        self._memory.site(rule.rewrite.host).rules.pop(rule.rewrite, None)
        return True

    def tally_of(self, rule: TrackedRule) -> RuleTally | None:
        """Return where a rule's evidence is counted."""
        said = rule.rewrite
        whole = said if said.below == "/" else replace(said, below="/")
        return self._memory.site(said.host).tallies.get(whole)

    def is_doubtful(self, rule: TrackedRule) -> bool:
        """Return True if the pages that speak for a rule differ more than one from itself."""
        tally = self.tally_of(rule)
        text = self._memory.site(rule.rewrite.host).known.text
        return tally is not None and tally.differ_more(text)

    def where_it_holds(self, rule: TrackedRule) -> Counts:
        """Return the evidence for a rule, and what it says of other parts of its site.

        The parts in which more speaks against it than for it are left out: there it does not hold.
        """
        tally = self.tally_of(rule)
        return Counts() if tally is None else tally.where_it_holds()

    def open_parts(self, rule: TrackedRule) -> None:
        """Add rules for the parts of a site that are clean, where the whole site is not."""
        tally = self.tally_of(rule)
        if tally is None or rule.rewrite.below != "/" or is_narrow(rule.rewrite):
            return
        for part in tally.parts():
            counts = tally.totals(part)
            if counts.agree < _PART or counts.disagree:
                continue
            said = replace(rule.rewrite, below=part)
            if said not in self._memory.site(rule.rewrite.host).rules:
                added = self.rule(said)
                added.set_counts(counts)
                added.samples = [pair for pair in rule.samples if lies_in(pair[0], part)]
                added.first_seen, added.last_seen = rule.first_seen, rule.last_seen
                self.mark_changed(added)


def is_narrow(rewrite: Rewrite) -> bool:
    """Return True if a rewrite is about a part of a site, or about one page, anyway."""
    return rewrite.family == "path-prefix" or FAMILIES[rewrite.family].one_page


def part_of(rewrite: Rewrite) -> str:
    """Return the part of its site that a rule covers; "" for all of it."""
    return "" if rewrite.below == "/" else rewrite.below


def lies_in(url: str, part: str) -> bool:
    """Return True if a URL's path lies in a part of its site."""
    return Parts.of(url).path.startswith(part)

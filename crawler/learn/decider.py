"""The decider: which state its evidence puts a rule in, and what follows from that. Pure."""

from collections.abc import Callable, Collection, Iterable
from math import inf
from typing import NamedTuple

from msgspec.structs import replace

from canonry.canon.learned import RuleState
from canonry.crawler.learn.evidence.assessor import Assessor
from canonry.crawler.learn.evidence.defaults import (
    depends_on_value,
    is_by_chance,
    open_defaults,
)
from canonry.crawler.learn.evidence.domains import extend_to_domain
from canonry.crawler.learn.evidence.forgetting import hold_against_all, make_room
from canonry.crawler.learn.evidence.groups import has_one_that_selects, selects_now_and_then
from canonry.crawler.learn.evidence.mixes import (
    MIX,
    has_one_that_may_select,
    is_about_names,
    supported,
)
from canonry.crawler.learn.evidence.open_rules import let_go_of_those_within
from canonry.crawler.learn.evidence.rule_book import RuleBook, part_of
from canonry.crawler.learn.inference.proposals import opposite
from canonry.crawler.learn.life.lifecycle import IN_FORCE, UNDECIDED, lower_bound, next_state
from canonry.crawler.learn.life.thresholds import Thresholds
from canonry.crawler.learn.memory.known_site import KnownSite
from canonry.crawler.learn.memory.site_memory import SiteMemory
from canonry.crawler.learn.questions import repeats
from canonry.crawler.learn.questions.copies import differ_elsewhere
from canonry.storage.learned.tracked_rule import Hindrance, TrackedRule

# Paths of which it is not known what they say, for each that agrees: with more, a rule does not
# become active, and an active one is suspended. Of a few nothing follows.
_MOST_UNDECIDED = 0.5
_TOO_MANY_UNDECIDED = 2.0
_FEW_UNDECIDED = 4
_TOGETHER = 5  # pages in doubt that turned out to agree, and none to be another one: so may others
_SUPPORT_AGAIN = 8  # URLs of a mix, for each answer until it is looked again what supports it


class StateChange(NamedTuple):
    """A rule that went from one state to another."""

    rule: TrackedRule
    before: RuleState


class Decisions(NamedTuple):
    """What follows from new evidence."""

    changed: list[TrackedRule]  # rules with new evidence
    state_changes: list[StateChange]  # those of them with a new state
    removed: list[TrackedRule]  # candidates for which nothing speaks any more


class Decider:
    """Decides on the states of rules.

    Attributes:
        priors: how such rules ended elsewhere, by family; those that are shipped, at first.
    """

    def __init__(
        self,
        thresholds: Thresholds,
        registrable: Callable[[str], str],
        memory: SiteMemory,
        book: RuleBook,
        assessor: Assessor,
    ) -> None:
        """Bind what a learner knows.

        Args:
            thresholds: how much evidence makes a rule.
            registrable: from a host to its registrable domain, private suffixes respected.
            memory: what is known of sites.
            book: their rules.
            assessor: holds rules against facts.
        """
        self._thresholds = thresholds
        self._registrable = registrable
        self._memory = memory
        self._book = book
        self._assessor = assessor
        self.priors = thresholds.priors

    def decide(self, now: float) -> Decisions:
        """Decide on the state of every rule that has new evidence.

        A rule changes its state once in a call, from one state to the next.
        """
        self._assessor.judge_outdated()
        changed = self._book.take_changed()
        changed += self._parts_in_doubt(changed)
        changed += self._contradicted_elsewhere(changed)
        changes = [change for rule in changed if (change := self._decide_on(rule, now))]
        for rule in changed:
            tally = self._book.tally_of(rule)
            is_mixed = rule.disagree or (tally is not None and tally.is_unknown())
            if is_mixed and rule.state in UNDECIDED and not self._has_exceptions(rule):
                self._book.open_parts(rule)
            if tally is not None and (rule.disagree or tally.undecided):
                open_defaults(self._memory.site(rule.rewrite.host), tally, self._assessor)
        self._open_mixes(changed)
        for change in changes:
            self._follow(change, now)
        more = self._book.take_changed()
        saved = {rule.rewrite: rule for rule in (*changed, *more)}
        removed = [rule for rule in saved.values() if self._book.remove_unfounded(rule)]
        for rule in removed:
            del saved[rule.rewrite]
        for rule in more:
            if rule.rewrite in saved:
                self._book.mark_changed(rule)  # to be decided on at the next call
        make_room(self._memory, self._book, self._assessor)
        return Decisions(list(saved.values()), changes, removed)

    def _follow(self, change: StateChange, now: float) -> None:
        """Do what follows for other rules from one that became active, or is no longer."""
        rule, site = change.rule, self._memory.site(change.rule.rewrite.host)
        if rule.state == "active":
            let_go_of_those_within(self._book, site, rule.rewrite)
            extend_to_domain(self._memory, self._book, self._assessor, self._registrable, rule, now)
        elif change.before == "active":
            self._verify_all(rule)
            if rule.rewrite.family == MIX:  # it took the place of others
                self._assessor.propose_all(rule.rewrite.host, site)

    def _open_mixes(self, changed: Iterable[TrackedRule]) -> None:
        """Open the rules that any mix of some parameters selects nothing, where others show it."""
        for rule in changed:
            site = self._memory.site(rule.rewrite.host)
            if rule.rewrite.family == MIX:
                self._look_what_supports(rule, site)
                is_news = rule.disagree > 0
            else:
                is_news = rule.agree > 0 and is_about_names(rule.rewrite)
            if is_news:
                self._assessor.open_mixes(site)

    def _look_what_supports(self, mix: TrackedRule, site: KnownSite) -> None:
        """Note whether all parameters of a mix are proven; if some are, open the rule on these."""
        tally, least = self._book.tally_of(mix), self._thresholds.family[MIX].content_floor
        is_open = mix.state in UNDECIDED and mix.agree >= least
        if tally is not None and is_open and site.answers >= tally.look_at:
            tally.look_at = site.answers + 1 + len(tally.results) // _SUPPORT_AGAIN
            found = supported(self._memory.view(mix.rewrite.host, site), tally, least)
            tally.is_supported = found == tally.rewrite
            if found is not None:
                self._assessor.open(found)

    def _decide_on(self, rule: TrackedRule, now: float) -> StateChange | None:
        """Let a rule enter its next state; return None if it stays in its own."""
        if self._next_state(rule) == rule.state:
            return None
        tally = self._book.tally_of(rule)
        if tally is not None:  # before it acts, it is held against all that is known
            self._assessor.judge(tally)
            if self._next_state(rule) == "active":
                site = self._memory.site(rule.rewrite.host)
                hold_against_all(self._memory, self._book, site, [tally])
        before, after = rule.state, self._next_state(rule)
        if before == after:
            return None
        rule.enter(after, now)
        return StateChange(rule, before)

    def _next_state(self, rule: TrackedRule) -> RuleState:
        """Return the state that a rule's evidence puts it in; note on it what holds it back."""
        family = rule.rewrite.family
        state = next_state(rule, self._thresholds.family[family], self.priors[family])
        if state == "revoked" and rule.state == "suspended" and self.may_be_noise(rule):
            return "suspended"
        if state != "active":
            return state
        rule.held_back = self._what_contradicts(rule)
        if rule.held_back is not None:
            return "suspended" if rule.state == "active" else rule.state
        if rule.state != "active":
            rule.held_back = self._what_is_missing(rule)
        return state if rule.held_back is None else rule.state

    def _what_contradicts(self, rule: TrackedRule) -> Hindrance | None:
        """Return why a rule with evidence enough must not act, if it does already or not."""
        if rule.rewrite.below != "/" and self._has_exceptions(rule):
            return "exceptions"
        if self._has_one_that_selects(rule):
            return "selects"
        if self._differs_elsewhere(rule):
            return "copies-differ"
        return "undecided" if self._is_undecided(rule) else None

    def _what_is_missing(self, rule: TrackedRule) -> Hindrance | None:
        """Return why an inactive rule with evidence enough does not act yet.

        The evidence may only seem enough; and for a part of a site it is too little if all parts
        in which the rule holds do not prove it.
        """
        if self._is_covered(rule):
            return "covered"
        if rule.rewrite.below != "/" and not self._is_proven_by_parts(rule):
            return "parts"
        if self._book.is_doubtful(rule):
            return "unlike"
        if is_by_chance(self._memory.site(rule.rewrite.host), rule.rewrite):
            return "chance"
        return "unproven" if self._is_unsupported(rule) else None

    def may_be_noise(self, rule: TrackedRule) -> bool:
        """Return True if what speaks against a rule may change by itself, and a repeat will tell.

        Until then the second trial goes on.
        """
        tally = self._book.tally_of(rule)
        site = self._memory.site(rule.rewrite.host)
        return tally is not None and repeats.may_be_noise(site, tally)

    def _has_exceptions(self, rule: TrackedRule) -> bool:
        """Return True if the site contradicts a rule also in parts where it mostly holds.

        Then a part without any contradiction has only not shown its exceptions yet.
        """
        found = self._book.where_it_holds(rule)
        needed = self._thresholds.family[rule.rewrite.family].doubted
        return found.disagree > 0 and lower_bound(found.agree, found.disagree) < needed

    def _parts_in_doubt(self, changed: Collection[TrackedRule]) -> list[TrackedRule]:
        """Return the active rules for parts of sites that new evidence on other parts contradicts.

        Args:
            changed: the rules with new evidence; these are left out.
        """
        known = {rule.rewrite for rule in changed}
        return [
            part
            for rule in changed
            if rule.disagree and rule.rewrite.below == "/" and self._has_exceptions(rule)
            for part in self._memory.site(rule.rewrite.host).rules.values()
            if part.state == "active"
            and part.rewrite not in known
            and replace(part.rewrite, below="/") == rule.rewrite
        ]

    def _contradicted_elsewhere(self, changed: Collection[TrackedRule]) -> list[TrackedRule]:
        """Return the active rules about parameters that select elsewhere, and about copies.

        Args:
            changed: the rules with new evidence; these are left out, and other hosts than theirs.
        """
        known = {rule.rewrite for rule in changed}
        contradicted = {rule.rewrite.host: False for rule in changed}
        contradicted |= {rule.rewrite.host: True for rule in changed if rule.disagree}
        return [
            rule
            for host, is_contradicted in contradicted.items()
            for rule in self._memory.site(host).rules.values()
            if rule.state == "active"
            and (is_contradicted or "&" in rule.rewrite.old)  # a group, or a mix
            and rule.rewrite not in known
            and (self._has_one_that_selects(rule) or self._differs_elsewhere(rule))
        ]

    def _is_undecided(self, rule: TrackedRule) -> bool:
        """Return True if of too many pages it is not known whether they are what a rule says.

        So it is where so much changes by itself that no page can be another one for certain. What
        counts then are those that are the same, as the first page of a list; they prove nothing. So
        it is, too, in a part of the site where no page is text, and each answer is another one.
        """
        tally, part = self._book.tally_of(rule), part_of(rule.rewrite)
        if tally is None or rule.agree <= rule.moved:  # it does not rest on content
            return False
        if (undecided := tally.undecided_for(part)) < _FEW_UNDECIDED:
            return False
        if tally.is_unknown(part):
            return True
        if tally.told_together >= (1 if rule.state == "active" else _TOGETHER):
            return False
        agree = tally.totals().agree
        if rule.state == "active":  # after a restart, pages are in doubt that were the same before
            return agree >= rule.agree and undecided > _TOO_MANY_UNDECIDED * agree
        return undecided > _MOST_UNDECIDED * agree or depends_on_value(tally)

    def _is_unsupported(self, rule: TrackedRule) -> bool:
        """Return True if an inactive rule is about a mix of parameters that are not all proven.

        They never are for a part of a site: where the whole is not clean, one of them selects.
        """
        if rule.rewrite.family != MIX:
            return False
        tally = self._book.tally_of(rule)
        return tally is None or not tally.is_supported or rule.rewrite.below != "/"

    def _is_proven_by_parts(self, rule: TrackedRule) -> bool:
        """Return True if all parts in which a rule holds prove it, or its own part does."""
        found = self._book.where_it_holds(rule)
        own = lower_bound(rule.agree, rule.disagree)
        together = lower_bound(found.agree, found.disagree)
        return max(own, together) >= self._thresholds.family[rule.rewrite.family].alone

    def _has_one_that_selects(self, rule: TrackedRule) -> bool:
        """Return True if a rule drops a parameter that selects elsewhere on its site."""
        needed = self._thresholds.family["parameter-irrelevant"].doubted
        site = self._memory.site(rule.rewrite.host)
        return (
            has_one_that_selects(site, rule.rewrite, needed)
            or selects_now_and_then(site, rule.rewrite, needed)
            or has_one_that_may_select(site, rule.rewrite, is_certain=rule.state == "active")
        )

    def _differs_elsewhere(self, rule: TrackedRule) -> bool:
        """Return True if a rule makes one directory another, and other copies of these differ."""
        needed = self._thresholds.family[rule.rewrite.family].doubted
        return differ_elsewhere(self._memory.site(rule.rewrite.host), rule, needed)

    def _is_covered(self, rule: TrackedRule) -> bool:
        """Return True if an active rule says the same for the whole site, or the opposite."""
        rules = self._memory.site(rule.rewrite.host).rules
        whole = rules.get(replace(rule.rewrite, below="/"))
        if rule.rewrite.below != "/" and whole is not None and whole.state == "active":
            return True
        turned = opposite(rule.rewrite)
        against = self._memory.site(turned.host).rules.get(turned)
        return against is not None and against is not rule and against.state in IN_FORCE

    def _verify_all(self, failed: TrackedRule) -> None:
        """Verify the next prediction of every rule of a site, after one of them has failed.

        The site may have changed altogether. If the rule was for the whole site, what was said
        about its parts may be outdated, too: they start again.
        """
        rules = self._memory.site(failed.rewrite.host).rules
        for other in rules.values():
            other.verified_at = -inf
        if failed.rewrite.below == "/":
            tally = self._book.tally_of(failed)
            if tally is not None:
                tally.forget_parts()

"""The learner: decides what is learned from what servers answer. Pure: no clock, no store.

Facts go to the assessor, which holds them against rules. The decider decides on the state of each
rule, the learner which questions are worth a request.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

from canonry.canon.learned import (
    LearnedRule,
    Rewrite,
    is_host_name,
    site_in,
    site_of,
    without_port,
)
from canonry.canon.syntax import Parts
from canonry.crawler.learn.decider import Decider, Decisions
from canonry.crawler.learn.evidence.assessor import Assessor
from canonry.crawler.learn.evidence.forgetting import recollect_active
from canonry.crawler.learn.evidence.rule_book import RuleBook
from canonry.crawler.learn.evidence.verdicts import shown_by
from canonry.crawler.learn.knowledge.site_facts import Fact
from canonry.crawler.learn.life.lifecycle import UNDECIDED
from canonry.crawler.learn.life.prior import Prior
from canonry.crawler.learn.life.thresholds import Thresholds
from canonry.crawler.learn.life.verification import Sampler, first_directory_in
from canonry.crawler.learn.memory.archive import Archive, NoArchive
from canonry.crawler.learn.memory.known_site import KnownSite
from canonry.crawler.learn.memory.site_memory import FACTS, SiteMemory
from canonry.crawler.learn.news import Answered, Moved
from canonry.crawler.learn.questions import choosing, repeats
from canonry.crawler.learn.questions.copies import likely_exceptions, of_copies
from canonry.crawler.learn.questions.to_sample import ToSample, to_sample
from canonry.storage.learned.tracked_rule import TrackedRule


class Learner:
    """Learns the rules of sites from evidence. One thread at a time may call it."""

    def __init__(
        self,
        thresholds: Thresholds,
        registrable: Callable[[str], str],
        archive: Archive | None = None,
        most_facts: int = FACTS,
    ) -> None:
        """Start with what an archive remembers.

        Args:
            thresholds: how much evidence makes a rule.
            registrable: from a host to its registrable domain, private suffixes respected.
            archive: knows earlier rules and facts.
            most_facts: that are remembered; one host has at most half of them.
        """
        self._thresholds = thresholds
        self._memory = SiteMemory(registrable, archive or NoArchive(), self._restore, most_facts)
        self._book = RuleBook(self._memory)
        self._assessor = Assessor(self._memory, self._book)
        self._decider = Decider(thresholds, registrable, self._memory, self._book, self._assessor)
        self._sampler = Sampler(thresholds.verification)

    def expect(self, priors: Mapping[str, Prior]) -> None:
        """Expect of rules what became of such rules elsewhere; at first what is shipped.

        Args:
            priors: by family.
        """
        self._decider.priors = priors

    def _restore(self, name: str, site: KnownSite) -> None:
        self._assessor.restore(name, site)

    def rules(self, site: str) -> Collection[TrackedRule]:
        """Return the rules of a site."""
        return self._memory.site(site).rules.values()

    def tracked(self, rule: LearnedRule) -> TrackedRule | None:
        """Return a rule with what was counted for it."""
        return self._memory.site(rule.host).rules.get(rule.rewrite)

    def forget(self, wide_domains: Iterable[str] = ()) -> None:
        """Forget all rules and facts, as after a transaction that was rolled back.

        Args:
            wide_domains: the domains for which the archive has rules for their subdomains, too.
        """
        self._memory.forget(wide_domains)
        self._book.forget()

    def forget_hosts(self, hosts: Collection[str]) -> None:
        """Forget some hosts: the archive knows more of them."""
        self._memory.drop(hosts)
        self._book.forget_hosts(hosts)

    def hosts_with_other_rules(self, decided: Mapping[str, Mapping[str, str]]) -> set[str]:
        """Return the remembered hosts of which somebody else has decided on a rule.

        Args:
            decided: by host the states of rules that are decided on, by their ids.
        """
        return {
            without_port(name)
            for name, site in self._memory.known_sites()
            if {r.id: r.state for r in site.rules.values() if r.state not in UNDECIDED}
            != decided.get(name, {})
        }

    @property
    def wide_domains(self) -> Collection[str]:
        """The domains that are known to have rules for their subdomains, too."""
        return self._memory.wide_domains

    def observe(self, news: Moved | Answered) -> None:
        """Hold an answer against the rules of its site."""
        parts = Parts.of(news.url if isinstance(news, Answered) else news.source)
        site = site_of(parts)
        if not site:
            return
        self._sampler.fetched(site)
        if isinstance(news, Answered):
            if news.hsts and is_host_name(site):
                self._book.rule(Rewrite(site, "scheme-upgrade")).hsts = True
            missing, names = news.missing, news.names
            fact = Fact(news.url, news.at, news.digest, news.sketch, None, missing, names)
            self._assessor.add(site, fact, parts)
        elif news.kind == "canonical":
            self._assessor.add_canonical(news.source, news.target)
        else:
            self._assessor.add(site, Fact(news.source, news.at, target=news.target), parts)

    def observe_missing(self, site: str, digest: bytes, sketch: bytes | None = None) -> None:
        """Remember the body with which a site answers 200 for what does not exist."""
        self._assessor.add_missing(site, digest, sketch)

    def observe_again(
        self, url: str, digest: bytes, sketch: bytes | None, hashes: bytes | None = None
    ) -> None:
        """Learn from a page that was fetched again what changes by itself, and what does not.

        Args:
            url: its identity.
            digest: of the body.
            sketch: of the text, if it is text.
            hashes: of all that it says, if it is text.
        """
        self._assessor.add_repeat(url, digest, sketch, hashes)

    def settle(self, site: str) -> None:
        """Judge all that is known of a site anew, so that its evidence is that of the facts."""
        known = self._memory.site(site)
        self._assessor.judge_site(known)
        known.recalled.clear()
        recollect_active(self._memory, self._book, known)

    def room_for_questions(self, site: str) -> int:
        """Return how many URLs of a site may be asked sooner, because they would decide a rule."""
        return choosing.room(self._memory.site(site))

    def is_worth_asking(self, named: Moved) -> bool:
        """Return True if the target of a canonical link is to be asked sooner, to confirm it."""
        there = self._memory.site(site_in(named.target))
        if named.target in there.known.facts or named.target in there.asked:
            return False  # it has answered, or another page has named it
        site = self._memory.site(site_in(named.source))
        if not choosing.is_worth_asking(site, shown_by(named.source, named.target)):
            return False
        there.asked.add(named.target)
        return True

    def to_sample(self, rules: Iterable[TrackedRule]) -> list[ToSample]:
        """Return the rules that may be wrong now and then, so that a sample would tell."""
        each = (to_sample(rule, self._book.tally_of(rule)) for rule in rules)
        return [one for one in each if one is not None]

    def read_more(self, rule: TrackedRule, pairs: int) -> None:
        """Let so many more pairs of pages be read for a rule that rests on reading."""
        tally = self._book.tally_of(rule)
        if tally is not None and tally.acting is not None:
            tally.acting = tally.acting[0] + pairs, tally.acting[1]

    def copies(self, site: str, rules: Iterable[TrackedRule]) -> list[TrackedRule]:
        """Return which rules of a site make one directory another that is nearly the same."""
        return of_copies(self._memory.site(site), rules)

    def likely_exceptions(self, site: str, rules: Sequence[TrackedRule]) -> dict[str, list[str]]:
        """Return by the id of each rule identities that may well contradict it.

        That takes as long as the site is large.

        Args:
            site: the site.
            rules: which make one of its directories another.
        """
        return likely_exceptions(self._memory.site(site), rules)

    def place_in_queue(self, site: str) -> int:
        """Return how many queued URLs of a site are not worth a look, from the first on."""
        return self._memory.site(site).looked

    def questions(self, site: str, queued: Iterable[str], most: int) -> list[str]:
        """Return which of the queued URLs of a site would decide most about open rules.

        Args:
            site: the site.
            queued: identities, in the order of the queue, after those that `place_in_queue` says.
            most: how many.
        """
        return choosing.choose(self._memory.site(site), queued, most)

    def pages_to_repeat(self, site: str) -> list[str]:
        """Return pages to fetch again, to see what changes by itself; none if none is needed."""
        return repeats.to_repeat(self._memory.site(site))

    def wants_missing(self, site: str) -> bool:
        """Return True, once for each site, if it should be asked for what does not exist.

        Equal content is evidence only if the site does not answer everything alike. Where answers
        come in many at a time, a rule is on probation already when that is asked for.
        """
        known = self._memory.site(site)
        if known.probed or not any(
            rule.agree > rule.moved and rule.state in UNDECIDED for rule in known.rules.values()
        ):
            return False
        known.probed = True
        return True

    def decide(self, now: float) -> Decisions:
        """Decide on the state of every rule that has new evidence.

        A rule changes its state once in a call, from one state to the next.
        """
        return self._decider.decide(now)

    def may_be_noise(self, rule: TrackedRule) -> bool:
        """Return True if pages that were asked twice will tell whether a rule has failed."""
        return self._decider.may_be_noise(rule)

    def is_verified(
        self, rules: Iterable[LearnedRule], identity: str, now: float, source: str = ""
    ) -> bool:
        """Return True if a prediction of active rules is to be fetched, to verify them.

        Args:
            rules: the rules that made the identity.
            identity: what they made of a URL.
            now: seconds since 1970.
            source: the URL's identity without rules, if it is known.
        """
        url, site = source or identity, site_in(identity)
        for rule in rules:
            tracked = self.tracked(rule)
            # A rule that was imported, and never verified here, counts from then on.
            since = None if tracked is None else now - (tracked.verified_at or tracked.entered_at)
            limits = self._thresholds.family[rule.family]
            new_places = partial(self._new_places, tracked, url, identity, limits.first)
            if self._sampler.is_chosen(rule.id, url, site, since, limits, new_places):
                return True
        return False

    def _new_places(
        self, rule: TrackedRule | None, url: str, identity: str, first: int
    ) -> list[tuple[str, int]]:
        """Return the part of the site, and the values, for which a rule has no evidence.

        Each with the number of predictions that are to be fetched: in a part, some pages may be
        exceptions; a value of a parameter that selects does so mostly.
        """
        tally = None if rule is None else self._book.tally_of(rule)
        part = first_directory_in(identity)
        if tally is None:
            return [(part, first)] if part else []
        places = [(field, 1) for field in tally.unproven(url)]
        if part and not tally.totals(part).agree:
            places.insert(0, (part, first))
        return places

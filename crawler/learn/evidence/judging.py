"""Judging: what a URL says about a rule goes into its tally, and into the evidence that it shows.

Pure: no clock, no store.
"""

from collections.abc import Sequence
from itertools import islice

from msgspec.structs import replace

from canonry.canon.learned import site_in
from canonry.canon.syntax import Parts
from canonry.crawler.learn.evidence.rule_book import RuleBook, lies_in, part_of
from canonry.crawler.learn.evidence.verdicts import beside, counted_path, verdict
from canonry.crawler.learn.life.verification import first_directory
from canonry.crawler.learn.memory.site_memory import SiteMemory, SiteView
from canonry.crawler.learn.tallies.stances import ANSWERS, FOR, Stance
from canonry.crawler.learn.tallies.tally import DOUBTS, RuleTally
from canonry.storage.learned.tracked_rule import SAMPLES, TrackedRule


class Judge:
    """Judges what URLs say about rules that change them."""

    def __init__(self, memory: SiteMemory, book: RuleBook) -> None:
        """Start with what is remembered.

        Args:
            memory: the facts.
            book: the rules.
        """
        self._memory = memory
        self._book = book

    def judge_all(self, tally: RuleTally, urls: Sequence[str], *, is_new: bool = True) -> None:
        """Judge URLs that a rule changes."""
        views: dict[str, SiteView] = {}
        for url in urls:
            name = site_in(url) if tally.rewrite.subdomains else tally.rewrite.host
            view = views.get(name)
            if view is None:
                view = views[name] = self._memory.view(name, self._memory.site(name))
            self.judge(view, tally, url, is_new=is_new)

    def judge(self, view: SiteView, tally: RuleTally, url: str, *, is_new: bool = True) -> None:
        """Judge a URL, and count what it says for the rule and for that of its part.

        Args:
            view: from the URL's site.
            tally: of the rule.
            url: a URL that the rule changes.
            is_new: True if the verdict rests on a new fact, so that it was predicted.
        """
        said = verdict(view, tally, url)
        tally.remember(url, said, beside(view, tally, url))
        stance, found = said.stance, said.found
        is_compared = found not in {"", url}
        is_open = stance is Stance.NOTHING or stance in ANSWERS
        may_tell = is_compared and is_open and stance is not Stance.UNKNOWN
        in_doubt = may_tell and len(tally.doubts) < DOUBTS
        if tally.stance(url) is stance and not in_doubt:
            return
        path = counted_path(tally.rewrite, Parts.of(url), tally.results[url])
        if in_doubt:
            tally.doubts.add(path)
        tally.set(url, path, stance)
        site = self._memory.site(tally.rewrite.host)
        at = None
        for part in ("", first_directory(path)):
            rule = site.rules.get(replace(tally.rewrite, below=part) if part else tally.rewrite)
            if rule is None and not part and stance in FOR:
                rule = self._book.rule(tally.rewrite)
                site.add_question()
            if rule is not None:
                if at is None:
                    at = max(_at(view, url), _at(view, found))
                more, against = rule.update(tally.totals(part), at, predicted=is_new)
                self._show(rule, tally, url, found, agrees=True, change=more)
                self._show(rule, tally, url, found, agrees=False, change=against)
                self._book.mark_changed(rule)

    def _show(
        self,
        rule: TrackedRule,
        tally: RuleTally,
        url: str,
        found: str,
        *,
        agrees: bool,
        change: int,
    ) -> None:
        """Let a rule name what speaks for it, or against it, after a URL has changed what it says.

        What other URLs say may count only since then, or no more.
        """
        part = part_of(rule.rewrite)
        for one, _found in [*(rule.samples if agrees else rule.against)]:
            may_count_no_more = one == url or (change < 0 and one in tally.results)
            if may_count_no_more and not tally.counts(one, part, agrees=agrees):
                rule.withdraw_sample(one, agrees=agrees)
        if change > 0 and tally.counts(url, part, agrees=agrees):
            rule.add_sample(url, found, agrees=agrees)
        if change and not rule.shows_enough(agrees=agrees):
            at_hand = (one for one in tally.that_count(part, agrees=agrees) if lies_in(one, part))
            for one in islice(at_hand, SAMPLES):
                name = site_in(one)
                view = self._memory.view(name, self._memory.site(name))
                rule.add_sample(one, verdict(view, tally, one).found, agrees=agrees)


def _at(view: SiteView, url: str) -> float:
    """Return when a URL answered."""
    fact = view.fact(url) if url else None
    return 0.0 if fact is None else fact.at

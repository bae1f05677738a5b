"""What is remembered of one site: facts, rules, and where the evidence of each rule is counted."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Self

from canonry.canon.learned import Rewrite
from canonry.crawler.learn.knowledge.site_facts import Fact, SiteFacts, reference_of
from canonry.crawler.learn.tallies.tally import RuleTally
from canonry.storage.learned.tracked_rule import TrackedRule

GONE = 0.75  # the share of its facts that a site forgets at once
_SOON = 16  # answers, until a site's queue is looked at for a new rule


@dataclass(slots=True)
class KnownSite:
    """What is remembered of one site.

    Attributes:
        known: the facts.
        forgotten: how many facts are not at hand any more.
        rules: by what they say.
        tallies: of rules for the whole site; those for its parts are counted there, too.
        awaited: the tallies that make URLs of other sites, or of this one, into a URL.
        named: what redirects and canonical links showed.
        refuted: what is not looked at again.
        again_at: after how many answers a rule that gave way to another may be opened again.
        room_at: after how many answers the next one may give way.
        asked: URLs that were asked sooner, for an open question, and have not answered yet.
        asked_at: how many answers there were then.
        look_at: after how many answers it is worth to look for further questions.
        vain_looks: how many have found nothing since one did, or since a rule was new.
        looked: how many URLs of the queue were looked at since its beginning.
        questions: how many were asked so far.
        mixes_at: after how many answers it is worth to look for mixes of parameters.
        across: what drops all parameters in which two pages differ that may be the same, with these
            pages; some of it.
        compared_across: how many such pages were compared.
        selecting: names of mixes that may select something, so that pages contradict the mix, by
            what it stands beside; True for those that nothing else explains.
        repeat_at: after how many answers it is worth to look for pages to ask twice.
        repeated: the URLs that were asked twice, to see what changes by itself; True for those that
            have answered.
        apart: those of them that were asked to see whether they are others than the page that they
            were compared with.
        pairs: of those, with the page that each was compared with, that may have to be asked again.
        heard: those that were asked before much that speaks against a rule refutes it.
        probed: True if the site was asked for something that does not exist.
        is_partial: True if the archive may know facts that are not at hand.
        recalled: the rules that were held against all that the archive knows, since facts were
            forgotten.
        recalled_at: how many answers there were when the active rules were.
    """

    known: SiteFacts = field(default_factory=SiteFacts)
    forgotten: int = 0
    rules: dict[Rewrite, TrackedRule] = field(default_factory=dict)
    tallies: dict[Rewrite, RuleTally] = field(default_factory=dict)
    awaited: dict[str, tuple[RuleTally, ...]] = field(default_factory=dict)
    named: set[Rewrite] = field(default_factory=set)
    refuted: set[Rewrite] = field(default_factory=set)
    again_at: dict[Rewrite, int] = field(default_factory=dict)
    room_at: int = 0
    asked: set[str] = field(default_factory=set)
    asked_at: int = 0
    look_at: int = 0
    vain_looks: int = 0
    looked: int = 0
    questions: int = 0
    mixes_at: int = 0
    across: dict[Rewrite, tuple[str, str]] = field(default_factory=dict)
    compared_across: int = 0
    selecting: dict[tuple[str, ...], dict[str, bool]] = field(default_factory=dict)
    repeat_at: int = 0
    repeated: dict[str, bool] = field(default_factory=dict)
    apart: set[str] = field(default_factory=set)
    pairs: list[tuple[str, str]] = field(default_factory=list)
    heard: set[str] = field(default_factory=set)
    probed: bool = False
    is_partial: bool = False
    recalled: set[Rewrite] = field(default_factory=set)
    recalled_at: int = 0

    @property
    def answers(self) -> int:
        """How many URLs have answered, as far as the memory has met them."""
        return self.forgotten + len(self.known.facts)

    def compared_with(self, tally: RuleTally, url: str) -> Fact | None:
        """Return the page with which a URL's was compared, unless a redirect led there.

        Args:
            tally: of the rule for which it was.
            url: one that the rule changes.
        """
        facts, result = self.known.facts, tally.results[url]
        other = facts.get(result)
        if other is None:
            other = reference_of(map(facts.get, tally.members.get(result, ())))
        return other if other is not None and other.is_page and other.url != url else None

    def add_question(self) -> None:
        """Let the queue be looked at soon: there is a rule that was not looked for yet."""
        self.vain_looks = 0
        self.look_at = min(self.look_at, self.answers + _SOON)

    def shortened(self, name: str) -> Self:
        """Return what stays of the site if it forgets most facts: it has no tallies then.

        What redirects have shown, and what the pages have in common, is remembered.

        Args:
            name: of the site.
        """
        kept = self._latest(int(len(self.known.facts) * (1 - GONE)))
        others = {
            url: found
            for url, tallies in self.awaited.items()
            if (found := tuple(one for one in tallies if one.rewrite.host != name))
        }
        return replace(
            self,
            known=self.known.only(kept),
            forgotten=self.answers - len(kept),
            tallies={},
            awaited=others,
            is_partial=True,
            recalled=set(),
        )

    def forget_awaiting(
        self, tallies: Collection[RuleTally], urls: Iterable[str] | None = None
    ) -> None:
        """Forget tallies that wait for URLs of this site.

        Args:
            tallies: to forget.
            urls: that they wait for, if that is known; else all are looked at.
        """
        gone = set(map(id, tallies))
        for url in list(self.awaited if urls is None else urls):
            waiting = self.awaited.get(url, ())
            left = tuple(tally for tally in waiting if id(tally) not in gone)
            if not left:
                self.awaited.pop(url, None)
            elif len(left) < len(waiting):
                self.awaited[url] = left

    def _latest(self, most: int) -> dict[str, None]:
        """Return the URLs of the latest facts, with those that rules hold them against."""
        facts, kept = self.known.facts, dict[str, None]()
        for url in reversed(facts):
            if len(kept) >= most:
                break
            kept[url] = None
            if (target := facts[url].target) in facts:
                kept[target] = None
            for tally in self.tallies.values():
                result = tally.results.get(url, url)
                for one in (result, *tally.members.get(result, ())):
                    if one in facts:
                        kept[one] = None
        return kept

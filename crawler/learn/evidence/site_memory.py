"""What the learner remembers of sites: facts, tallies and rules.

Memory is bounded: so many sites, so many facts, so many rules of each. What is forgotten is in the
store, and is read again when the site is met again.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from msgspec.structs import replace

from canonry.canon.learned import Rewrite, site_in, without_port
from canonry.canon.syntax import Parts
from canonry.crawler.content.host_text import Comparison
from canonry.crawler.learn.evidence.site_facts import Fact, SiteFacts
from canonry.crawler.learn.evidence.tally import RuleTally
from canonry.crawler.learn.life.lifecycle import UNDECIDED
from canonry.storage.learned.history import PastHop
from canonry.storage.learned.tracked_rule import TrackedRule

_SITES = 4_000
_FACTS = 200_000
_TALLIES = 48  # of one site
_REFUTED = 16  # paths against a rule that has none for it: it is not looked at again


class Archive(Protocol):
    """Knows rules and facts for longer than the memory does."""

    def rules_of(self, site: str) -> Iterable[TrackedRule]:
        """Return the rules of a site; called when the learner meets the site (again)."""
        ...

    def facts_of(self, site: str) -> Iterable[Fact]:
        """Return what a site's URLs answered; called when the learner meets it (again)."""
        ...

    def hops_of(self, site: str) -> Iterable[PastHop]:
        """Return where a site's URLs led, by identities: redirects and canonical links."""
        ...


class NoArchive:
    """An archive that remembers nothing."""

    def rules_of(self, site: str) -> Iterable[TrackedRule]:
        """Return nothing."""
        del site
        return ()

    def facts_of(self, site: str) -> Iterable[Fact]:
        """Return nothing."""
        del site
        return ()

    def hops_of(self, site: str) -> Iterable[PastHop]:
        """Return nothing."""
        del site
        return ()


@dataclass(slots=True)
class KnownSite:
    """What is remembered of one site.

    Attributes:
        known: the facts.
        rules: by what they say.
        tallies: of rules for the whole site; those for its parts are counted there, too.
        awaited: the tallies that make URLs of other sites, or of this one, into a URL.
        named: what redirects and canonical links showed.
        refuted: what is not looked at again.
        asked: URLs that were asked sooner, for an open question, and have not answered yet.
        asked_at: how many facts were known then.
        look_at: with how many facts it is worth to look for further questions.
        looked: how many URLs of the queue were looked at since its beginning.
        questions: how many were asked so far.
        repeated: the URLs that were asked twice, to see what changes by itself; True for those that
            have answered.
        probed: True if the site was asked for something that does not exist.
    """

    known: SiteFacts = field(default_factory=SiteFacts)
    rules: dict[Rewrite, TrackedRule] = field(default_factory=dict)
    tallies: dict[Rewrite, RuleTally] = field(default_factory=dict)
    awaited: dict[str, tuple[RuleTally, ...]] = field(default_factory=dict)
    named: set[Rewrite] = field(default_factory=set)
    refuted: set[Rewrite] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    asked_at: int = 0
    look_at: int = 0
    looked: int = 0
    questions: int = 0
    repeated: dict[str, bool] = field(default_factory=dict)
    probed: bool = False


class SiteMemory:
    """The sites that were used last.

    Attributes:
        wide_domains: the domains with rules for their subdomains, too.
    """

    def __init__(
        self,
        registrable: Callable[[str], str],
        archive: Archive,
        restore: Callable[[str, KnownSite], None],
    ) -> None:
        """Start empty.

        Args:
            registrable: from a host to its registrable domain, private suffixes respected.
            archive: knows earlier rules and facts.
            restore: is called with the name of a site, and what is remembered of it, when the site
                was read from the archive.
        """
        self._registrable = registrable
        self._archive = archive
        self._restore = restore
        self._sites: OrderedDict[str, KnownSite] = OrderedDict()
        self._facts = 0
        self.wide_domains: set[str] = set()

    def forget(self, wide_domains: Iterable[str] = ()) -> None:
        """Forget all rules and facts.

        Args:
            wide_domains: the domains for which the archive has rules for their subdomains, too.
        """
        self.wide_domains = set(wide_domains)
        self._sites.clear()
        self._facts = 0

    def drop(self, hosts: Collection[str]) -> None:
        """Forget the sites of some hosts; the archive is asked when they are met again."""
        for name in [name for name in self._sites if without_port(name) in hosts]:
            self._facts -= len(self._sites.pop(name).known.facts)

    def site(self, name: str) -> KnownSite:
        """Return what is remembered of a site; forget those that were not used for longest."""
        site = self._sites.get(name)
        if site is not None:
            self._sites.move_to_end(name)
            return site
        site = self._sites[name] = KnownSite()
        site.rules = {rule.rewrite: rule for rule in self._archive.rules_of(name)}
        for fact in self._archive.facts_of(name):
            self.add(site, fact, Parts.of(fact.url))
        for hop in self._archive.hops_of(name):
            if hop.kind == "redirect":
                self.add(site, Fact(hop.url, hop.at, target=hop.target), Parts.of(hop.url))
            else:
                site.known.canonicals[hop.url] = hop.target
        self._restore(name, site)
        while len(self._sites) > _SITES or (self._facts > _FACTS and len(self._sites) > 1):
            _name, gone = self._sites.popitem(last=False)
            self._facts -= len(gone.known.facts)
        return site

    def twin(self, name: str) -> KnownSite | None:
        """Return the site with "www." before a site's name, or without it, if it is known."""
        return self._sites.get(name[4:] if name.startswith("www.") else f"www.{name}")

    def add(self, site: KnownSite, fact: Fact, parts: Parts) -> tuple[str, ...]:
        """Add a fact to its site; return the URLs about which something new is known."""
        before = len(site.known.facts)
        news = site.known.add(fact, parts)
        self._facts += len(site.known.facts) - before
        return news

    def view(self, name: str, site: KnownSite) -> "SiteView":
        """Return a view of the facts from one site, where most of what is asked for lies."""
        return SiteView(self, name, site)

    def sites_of(self, domain: str) -> Iterator[tuple[str, KnownSite]]:
        """Yield the names and memories of a domain and its subdomains."""
        for name, site in list(self._sites.items()):
            if name == domain or name.endswith("." + domain):
                yield name, site

    def tallies_about(self, name: str, own: KnownSite) -> list[RuleTally]:
        """Return the tallies of rules that may change URLs of a site, which is named and given."""
        found = list(own.tallies.values())
        if not self.wide_domains or (domain := self._registrable(name)) not in self.wide_domains:
            return found
        decided = {
            replace(rule.rewrite, host=domain, below="/")
            for rule in own.rules.values()
            if rule.state not in UNDECIDED
        }
        for tally in self.site(domain).tallies.values():
            said = tally.rewrite
            if said.subdomains and replace(said, subdomains=False, but=()) not in decided:
                found.append(tally)  # else the site has decided for itself
        return found

    def open(self, rewrite: Rewrite) -> RuleTally | None:
        """Return a new tally for a rule of a whole site; None if it is known or refuted.

        If the site has too many, the one with the least evidence makes room.
        """
        site = self.site(rewrite.host)
        if rewrite in site.tallies or rewrite in site.refuted:
            return None
        if len(site.tallies) >= _TALLIES:
            weak = min(
                (t for t in site.tallies.values() if t.rewrite not in site.rules),
                key=lambda t: (t.totals().agree, -t.totals().disagree),
                default=None,
            )
            if weak is None:
                return None
            del site.tallies[weak.rewrite]
        tally = site.tallies[rewrite] = RuleTally(rewrite)
        return tally

    def drop_refuted(self, name: str, tally: RuleTally) -> None:
        """Stop looking at a rule that much speaks against and nothing for."""
        totals = tally.totals()
        if totals.disagree >= _REFUTED and not totals.agree:
            site = self.site(name)
            if tally.rewrite not in site.rules:
                site.tallies.pop(tally.rewrite, None)
                site.refuted.add(tally.rewrite)


class SiteView:
    """The facts, as seen from one site."""

    def __init__(self, memory: SiteMemory, name: str, site: KnownSite) -> None:
        """Look from a site."""
        self._memory = memory
        self._name = name
        self._site = site
        self._facts = site.known.facts

    def fact(self, identity: str) -> Fact | None:
        """Return what became of a URL; None if that is not known."""
        found = self._facts.get(identity)
        if found is None and (there := site_in(identity)) != self._name:
            found = self._memory.site(there).known.facts.get(identity)
        return found

    def canonical(self, identity: str) -> str | None:
        """Return the confirmed target of a page's canonical link."""
        return self._site.known.canonicals.get(identity)

    def compare(self, one: Fact, other: Fact) -> Comparison:
        """Compare the content of two pages."""
        return self._site.known.compare(one, other)

    def are_others(self, one: Fact, other: Fact) -> bool:
        """Return True if the content of two pages clearly differs."""
        return self._site.known.are_others(one, other)

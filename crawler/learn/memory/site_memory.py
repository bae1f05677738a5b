"""What the learner remembers of sites: facts, tallies and rules.

Memory is bounded: so many sites, so many facts, so many rules of each. What is forgotten is in the
store: single facts are looked up there, and a site that is met again gets its latest ones.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from msgspec.structs import replace

from canonry.canon.learned import FAMILIES, Rewrite, site_in, without_port
from canonry.canon.syntax import Parts
from canonry.crawler.content.host_text import Comparison
from canonry.crawler.learn.knowledge.site_facts import ChangedText, Fact, reference_of
from canonry.crawler.learn.life.lifecycle import UNDECIDED
from canonry.crawler.learn.memory.archive import Archive
from canonry.crawler.learn.memory.known_site import GONE, KnownSite
from canonry.crawler.learn.tallies.tally import RuleTally
from canonry.storage.learned.history import PastHop

SITES = 16_000
FACTS = 200_000  # of all sites
_OF_ONE = 2  # the share of them that one site may have: one half
_LEFT = 0.75  # of them, when there were too many
_READ = 20_000  # facts of a site that is met for the first time
_READ_AGAIN = 100  # where many sites take turns: each time costs as much as so many pages
_HOPS = 3  # that are followed when a URL is looked up


class SiteMemory:
    """The sites that were used last.

    Attributes:
        archive: knows more than is remembered.
        wide_domains: the domains with rules for their subdomains, too.
    """

    def __init__(
        self,
        registrable: Callable[[str], str],
        archive: Archive,
        restore: Callable[[str, KnownSite], None],
        most_facts: int = FACTS,
    ) -> None:
        """Start empty.

        Args:
            registrable: from a host to its registrable domain, private suffixes respected.
            archive: knows earlier rules and facts.
            restore: is called with the name of a site, and what is remembered of it, when the site
                was read from the archive.
            most_facts: of all sites that are remembered.
        """
        self._registrable = registrable
        self.archive = archive
        self._restore = restore
        self._sites: OrderedDict[str, KnownSite] = OrderedDict()
        self._facts = 0
        self._most_facts = most_facts
        self._has_large = False  # True if a site may have too many facts
        self._have_left = False  # True if sites had to be forgotten
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
        site.rules = {rule.rewrite: rule for rule in self.archive.rules_of(name)}
        if self.archive.has_history:
            self._read(name, site)
        self._restore(name, site)
        if len(self._sites) > SITES:
            _name, gone = self._sites.popitem(last=False)
            self._facts -= len(gone.known.facts)
            self._have_left = self.archive.has_history = True
        return site

    def _read(self, name: str, site: KnownSite) -> None:
        """Read the latest facts of a site from the archive, as far as there is room for them."""
        room = min(_READ, self._most_facts - self._facts)
        most = _READ_AGAIN if self._have_left else max(_READ_AGAIN, room)
        number = 0
        for fact in self.archive.facts_of(name, most):
            self.add(site, fact, Parts.of(fact.url))
            number += 1
        for hop in self.archive.hops_of(name, most):
            self._take(site, hop)
            number += 1
        site.is_partial = number >= most

    def _take(self, site: KnownSite, found: Fact | PastHop) -> None:
        """Add what the archive knows to a site's facts; that is no news."""
        if isinstance(found, Fact):
            self.add(site, found, Parts.of(found.url))
        elif found.kind == "redirect":
            self.add(site, Fact(found.url, found.at, target=found.target), Parts.of(found.url))
        else:
            site.known.canonicals.note(found.url, found.target)
            site.known.canonicals.confirm(found.target)

    def recall(self, url: str) -> None:
        """Look a URL up in the archive, if its site has forgotten facts, and where it leads to."""
        for _ in range(_HOPS):
            site = self.site(site_in(url))
            if not site.is_partial:
                return
            if url not in site.known.facts:
                for found in self.archive.known_about([url]):
                    self._take(site, found)
            fact = site.known.facts.get(url)
            if fact is None or fact.target is None:
                return
            url = fact.target

    def crowded(self) -> list[str]:
        """Return which sites have to forget facts: the largest ones, if there are too many."""
        if self._facts <= self._most_facts and not self._has_large:
            return []
        self._has_large = False
        sizes = ((len(site.known.facts), name) for name, site in self._sites.items())
        left, found = float(self._facts), []
        for size, name in sorted(sizes, reverse=True):
            if size * _OF_ONE <= self._most_facts and left <= self._most_facts * _LEFT:
                break
            left -= size * GONE
            found.append(name)
        return found

    def shorten(self, name: str) -> KnownSite:
        """Forget most facts of a site, and its tallies; return what was known of it."""
        old = self._sites[name]
        new = self._sites[name] = old.shortened(name)
        self._facts -= len(old.known.facts) - len(new.known.facts)
        if any(FAMILIES[said.family].moves_host for said in old.tallies):
            for site in self._sites.values():
                site.forget_awaiting(old.tallies.values())
        return old

    def twin(self, name: str) -> KnownSite | None:
        """Return the site with "www." before a site's name, or without it, if it is known."""
        return self.at_hand(name[4:] if name.startswith("www.") else f"www.{name}")

    def at_hand(self, name: str) -> KnownSite | None:
        """Return what is remembered of a site; None if nothing is, whatever the archive knows."""
        return self._sites.get(name)

    def add(self, site: KnownSite, fact: Fact, parts: Parts) -> tuple[str, ...]:
        """Add a fact to its site; return the URLs about which something new is known."""
        before = len(site.known.facts)
        news = site.known.add(fact, parts)
        now = len(site.known.facts)
        self._facts += now - before
        self._has_large = self._has_large or now * _OF_ONE > self._most_facts
        return news

    def view(self, name: str, site: KnownSite) -> "SiteView":
        """Return a view of the facts from one site, where most of what is asked for lies."""
        return SiteView(self, name, site)

    def known_sites(self) -> Iterable[tuple[str, KnownSite]]:
        """Return the names and memories of all sites."""
        return self._sites.items()

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

    def open(self, rewrite: Rewrite) -> RuleTally:
        """Return a new tally for a rule of a whole site."""
        tally = self.site(rewrite.host).tallies[rewrite] = RuleTally(rewrite)
        return tally


class SiteView:
    """The facts, as seen from one site, as they are now."""

    def __init__(self, memory: SiteMemory, name: str, site: KnownSite) -> None:
        """Look from a site."""
        self._memory = memory
        self._name = name
        self._site = site
        self._facts = site.known.facts
        self._references: dict[Sequence[str], Fact | None] = {}
        self._compared: tuple[Fact, Fact, Comparison] | None = None  # the last two pages

    def fact(self, identity: str) -> Fact | None:
        """Return what became of a URL; None if that is not known."""
        found = self._facts.get(identity)
        if found is None and (there := site_in(identity)) != self._name:
            found = self._memory.site(there).known.facts.get(identity)
        return found

    def reference(self, members: Sequence[str]) -> Fact | None:
        """Return the page with which the others of a class are compared, or None.

        Args:
            members: of the class, hashable.
        """
        if members not in self._references:
            self._references[members] = reference_of(map(self.fact, members))
        return self._references[members]

    def canonical(self, identity: str) -> str | None:
        """Return the confirmed target of a page's canonical link."""
        return self._site.known.canonicals.targets.get(identity)

    @property
    def links_are_meant(self) -> bool:
        """Return True if the site chooses which parameters its canonical links have."""
        return self._site.known.canonicals.are_meant

    def compare(self, one: Fact, other: Fact) -> Comparison:
        """Compare the content of two pages; the last comparison is often asked for again."""
        last = self._compared
        if last is None or last[0] is not one or last[1] is not other:
            last = self._compared = one, other, self._site.known.compare(one, other)
        return last[2]

    def are_others(self, one: Fact, other: Fact) -> bool:
        """Return True if the content of two pages clearly differs."""
        return self._site.known.are_others(one, other)

    def changed(self, one: Fact, other: Fact) -> ChangedText:
        """Return what differs between two pages of a site on which nothing changes by itself."""
        return self._site.known.changed(one, other)

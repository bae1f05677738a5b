"""The assessor: holds facts against rules, and keeps the evidence of each rule up to date.

Pure: no clock, no store. The evidence of a rule is a function of the facts, in whatever order they
came: a rule that is opened late is held against all that is known of its site.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from canonry.canon.learned import FAMILIES, Rewrite, site_in, site_of
from canonry.canon.syntax import Parts
from canonry.crawler.content.page_reading import PageReading
from canonry.crawler.content.similarity import is_another_page
from canonry.crawler.content.sketch import Sketch
from canonry.crawler.learn.evidence.judging import Judge
from canonry.crawler.learn.evidence.mixes import find_selecting, mixes_of, note_across
from canonry.crawler.learn.evidence.open_rules import drop_if_refuted, has_room, let_go
from canonry.crawler.learn.evidence.rule_book import RuleBook, is_narrow
from canonry.crawler.learn.evidence.verdicts import shown_by
from canonry.crawler.learn.inference.proposals import opposite, proposals
from canonry.crawler.learn.knowledge.site_facts import Fact
from canonry.crawler.learn.life.lifecycle import UNDECIDED
from canonry.crawler.learn.memory.known_site import KnownSite
from canonry.crawler.learn.memory.site_memory import SiteMemory
from canonry.crawler.learn.tallies.stances import Stance
from canonry.crawler.learn.tallies.tally import RuleTally

_SMALL = 256  # answers of a site, that are judged anew at once
_PATIENCE = 16  # answers of a larger one, until pages that are asked twice have answered
_LOOK_AGAIN = 8  # answers, until mixes are looked for again; and for each that is contradicted


class Assessor:
    """Holds facts against rules."""

    def __init__(self, memory: SiteMemory, book: RuleBook) -> None:
        """Start with what is remembered.

        Args:
            memory: the facts.
            book: the rules.
        """
        self._memory = memory
        self._book = book
        self._judge = Judge(memory, book)
        self._outdated: dict[str, int] = {}  # how many answers sites had; see `judge_outdated`

    def restore(self, name: str, site: KnownSite) -> None:
        """Hold the rules of a site that was read again against its facts."""
        stored, site.rules = site.rules, {}
        for rule in stored.values():
            self.open(replace(rule.rewrite, below="/"))
        for rule in stored.values():
            self._book.put(rule)
        self.propose_all(name, site)

    def propose_all(self, name: str, site: KnownSite) -> None:
        """Open the rules that any known fact may be evidence for."""
        for rewrite in list(site.named):
            self.open(rewrite)
        for url in list(site.known.facts):
            self._propose(name, site, site.known.facts[url], Parts.of(url))

    def add(self, name: str, fact: Fact, parts: Parts) -> None:
        """Add a fact, and hold it against the rules that it says something about.

        Args:
            name: of the URL's site.
            fact: what became of a URL.
            parts: of the URL.
        """
        site = self._memory.site(name)
        site.asked.discard(fact.url)
        links = site.known.canonicals
        were_meant = links.are_meant
        news = self._memory.add(site, fact, parts)
        if not news:
            return
        if links.are_meant and not were_meant:
            self.judge_site(site)
        for url in news:
            if (named := links.targets.get(url)) is not None:
                self._open_named(site, shown_by(url, named))
        self._review(name, site, fact.url, parts)
        for url in news[1:]:
            self._review(name, site, url, Parts.of(url))
        if fact.target is not None and fact.target not in site.known.facts:
            self._look_back(name, fact.target)
        self._propose(name, site, fact, parts)

    def add_canonical(self, source: str, target: str) -> None:
        """Add a confirmed canonical link, and with it all others of the site that lead there."""
        name = site_in(source)
        site = self._memory.site(name)
        links = site.known.canonicals
        if links.targets.get(source) == target:
            return
        self._memory.recall(source)
        were_meant = links.are_meant
        links.note(source, target)
        confirmed = links.confirm(target) or [source]
        if links.are_meant and not were_meant:
            self.judge_site(site)
        for url in confirmed:
            self._open_named(site, shown_by(url, target))
            self._review(name, site, url, Parts.of(url))

    def add_repeat(
        self, url: str, digest: bytes, sketch: bytes | None, hashes: bytes | None
    ) -> None:
        """Add the answer of a page that was fetched twice: what differs changes by itself.

        Where it was asked to see whether it is another page, all that it says is compared. If a
        form to log in, or the like, has answered in its place, that says nothing.
        """
        name = site_in(url)
        site = self._memory.site(name)
        if url in site.repeated:
            site.repeated[url] = True
        fact = site.known.facts.get(url)
        if fact is None or fact.sketch is None or sketch is None:
            if fact is not None and fact.sketch is sketch is None:
                self._add_file_again(site, fact, digest)
            if url in site.apart:
                site.known.read.give_up(url)
            return
        first, second = Sketch.decode(fact.sketch), Sketch.decode(sketch)
        if is_another_page(first, second):
            site.known.read.give_up(url)
            return
        if url in site.apart:
            if hashes is not None:
                site.known.read.add(url, PageReading.of(hashes))
                site.repeat_at = 0  # when a crawl ends, nothing else answers any more
                self._judge_compared(name, site, url)
            return
        kind = site.known.kinds.of(url, fact.sketch)
        if not kind.add_repeat(is_same=fact.digest == digest):
            return
        before = site.known.text.generation
        site.known.text.twice(url, first, second)
        if site.known.text.generation != before:
            self._outdated.setdefault(name, site.answers)

    def _add_file_again(self, site: KnownSite, fact: Fact, digest: bytes) -> None:
        """Add the answer of a page that is not text and was fetched twice.

        If it differs from itself, others of its kind that differ speak against no rule any more.
        """
        kind = site.known.kind_of(fact)
        if kind is not None:
            is_first = not kind.varied
            kind.add_repeat(is_same=fact.digest == digest)
            if is_first and kind.varied:
                self.judge_site(site)

    def add_missing(self, name: str, digest: bytes, sketch: bytes | None) -> None:
        """Add the answer of a site, with status 200, for what does not exist."""
        site = self._memory.site(name)
        site.known.missing = digest
        if sketch is not None:
            site.known.text.missing(Sketch.decode(sketch))
        self.judge_site(site)

    def open(self, rewrite: Rewrite) -> None:
        """Hold a rule for a whole site against all that is known, unless it is known already."""
        if has_room(self._memory, self._book, rewrite):
            tally = self._memory.open(rewrite)
            self._judge_known(tally)
            drop_if_refuted(self._memory, self._book, tally)

    def open_mixes(self, site: KnownSite) -> None:
        """Open the rules that any mix of some parameters selects nothing, where others show it."""
        if site.answers >= site.mixes_at:
            contradicted = find_selecting(site)
            site.mixes_at = site.answers + _LOOK_AGAIN * (1 + contradicted)
            for mix in mixes_of(site):
                self.open(mix)

    def judge_anew(self, site: KnownSite, tally: RuleTally) -> None:
        """Hold a rule against what is left of the facts; those that are forgotten still count."""
        less = site.tallies[tally.rewrite] = tally.emptied(site.known.facts)
        self._judge_known(less)
        less.remember_all(tally)

    def judge_site(self, site: KnownSite) -> None:
        """Judge anew all that rests on the comparison of content."""
        for tally in list(site.tallies.values()):
            self.judge(tally)

    def judge_outdated(self) -> None:
        """Judge the sites anew of which it is known better what changes by itself.

        That takes as long as the site is large. So on a large one, first all pages answer that are
        asked twice, or some others do meanwhile. Before a rule acts, it is judged in any case.
        """
        for name, answers in list(self._outdated.items()):
            site = self._memory.at_hand(name)
            if site is None:  # it is judged when it is met again
                del self._outdated[name]
                continue
            in_time = site.answers <= _SMALL or site.answers >= answers + _PATIENCE
            if in_time or all(site.repeated.values()):
                del self._outdated[name]
                self.judge_site(site)

    def judge(self, tally: RuleTally) -> None:
        """Judge all URLs that a rule changes anew, if other facts can change what they say."""
        urls = [url for url in tally.results if url not in tally.final]
        self._judge.judge_all(tally, urls, is_new=False)

    def _judge_compared(self, name: str, site: KnownSite, url: str) -> None:
        """Judge anew a URL and those that are compared with it, after its page was read."""
        for tally in self._memory.tallies_about(name, site):
            urls = dict.fromkeys(tally.members.get(url, ()))
            if (result := tally.results.get(url)) is not None:
                urls |= dict.fromkeys((url, *tally.names_of(result)))
            changed = [one for one in urls if one in tally.results and one not in tally.final]
            self._judge.judge_all(tally, changed, is_new=False)

    def _propose(self, name: str, site: KnownSite, fact: Fact, parts: Parts) -> None:
        """Open the rules that a fact may be evidence for."""
        if fact.target is not None:
            self._open_named(site, shown_by(fact.url, fact.target))
        elif fact.is_page:
            for rewrite in site.known.fresh_parameters(parts):
                if FAMILIES[rewrite.family].check(rewrite) is None:
                    self.open(rewrite)
                    if (tally := site.tallies.get(rewrite)) is not None:
                        tally.suspected = True
            for rewrite, other in proposals(self._memory, name, site, fact, parts):
                refuted = self._memory.site(rewrite.host).refuted
                if rewrite in refuted and not is_narrow(rewrite) and _say_the_same(fact, other):
                    refuted.discard(rewrite)  # something speaks for it now
                self.open(rewrite)
            if parts.query:  # most pages have none
                self._propose_one_page(site, fact.url, parts)
                if note_across(site, fact, parts):
                    self.open_mixes(site)

    def _propose_one_page(self, site: KnownSite, url: str, parts: Parts) -> None:
        """Open the rule that a URL is a name of a page that says where to return to."""
        links = site.known.return_links.open(parts)
        source = self._memory.archive.linked_on(url) if links else None
        if source is None:
            return
        for rewrite in site.known.return_links.add(links, Parts.of(source)):
            if FAMILIES[rewrite.family].check(rewrite) is None:
                self.open(rewrite)

    def _open_named(self, site: KnownSite, rewrites: Iterable[Rewrite]) -> None:
        """Open the rules that a redirect or a canonical link shows; its direction counts."""
        for rewrite in rewrites:
            site.named.add(rewrite)
            against = opposite(rewrite)
            if against != rewrite:
                self._drop_unnamed(self._memory.site(against.host), against)
            self.open(rewrite)

    def _drop_unnamed(self, site: KnownSite, rewrite: Rewrite) -> None:
        """Drop a rule that only rests on content, and whose direction turned out to be wrong."""
        rule = site.rules.get(rewrite)
        undecided = rule is None or rule.state in UNDECIDED
        if undecided and rewrite not in site.named and rewrite in site.tallies:
            let_go(self._book, site, site.tallies[rewrite])

    def _judge_known(self, tally: RuleTally) -> None:
        """Judge all known URLs that a new rule changes."""
        said = tally.rewrite
        sites = [self._memory.site(said.host)]
        if said.subdomains:
            sites = [site for _name, site in self._memory.sites_of(said.host)]
        for site in sites:
            for url in list(filter(tally.marks, site.known.facts)):  # most are changed by no rule
                self._enter(tally, url)
        self._judge.judge_all(tally, list(tally.results), is_new=False)

    def _enter(self, tally: RuleTally, url: str, parts: Parts | None = None) -> str | None:
        """Note what a rule makes of a URL; return it, or None if the rule does not change it."""
        result = tally.result_of(url, parts)
        if result is None:
            return None
        if result in tally.members:
            tally.enter(url, result)
            return result
        there = self._memory.site(site_of(Parts.of(result)))
        if there.is_partial:
            self._memory.recall(result)
        if (known := there.known.facts.get(result)) is not None:
            result = known.url  # the same text is not kept twice
        there.awaited[result] = (*there.awaited.get(result, ()), tally)
        tally.enter(url, result)
        return result

    def _review(self, name: str, site: KnownSite, url: str, parts: Parts) -> None:
        """Judge what a new fact about a URL says: of itself, and of those that lead to it."""
        for tally in self._memory.tallies_about(name, site):
            if not tally.marks(url):  # most URLs are changed by no rule
                continue
            result = self._enter(tally, url, parts)
            if result is None or url not in tally.results:
                continue
            view = self._memory.view(name, site)
            urls = [url]
            if view.fact(result) is None and len(tally.members[result]) > 1:
                reference = view.reference(tally.members[result])
                if reference is not None and reference.url == url:
                    urls = list(tally.names_of(result))
            for one in urls:
                self._judge.judge(view, tally, one)
            if tally.stance(url) is Stance.OTHER:
                drop_if_refuted(self._memory, self._book, tally)
        for tally in site.awaited.get(url, ()):
            if self._memory.site(tally.rewrite.host).tallies.get(tally.rewrite) is tally:
                self._judge.judge_all(tally, tally.names_of(url))
                drop_if_refuted(self._memory, self._book, tally)

    def _look_back(self, name: str, target: str) -> None:
        """Judge the target of a redirect: a rule may lead from there to where it came from."""
        parts = Parts.of(target)
        if site_of(parts) == name:
            for tally in self._memory.tallies_about(name, self._memory.site(name)):
                if self._enter(tally, target, parts) is not None and target in tally.results:
                    self._judge.judge_all(tally, [target])


def _say_the_same(one: Fact, other: Fact) -> bool:
    """Return True if two pages are the same to the byte, or by their sketches."""
    return one.digest == other.digest or (one.sketch is not None and one.sketch == other.sketch)

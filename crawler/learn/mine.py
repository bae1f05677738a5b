"""Mining: learn rules from archives and logs instead of a crawl.

What was captured goes to the same evidence and the same decision as the answers of a crawl. But
nobody can ask again, so a rule needs more evidence. In a store, a crawl has to confirm it, too.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection

from canonry.canon import Canonicalizer, InvalidURL
from canonry.canon.learned import Evidence, LearnedRule, act, site_in
from canonry.canon.syntax import Parts
from canonry.crawler.documents.by_type import read_document, read_text
from canonry.crawler.files.captures import Capture
from canonry.crawler.learn import limits
from canonry.crawler.learn.decision import decide
from canonry.crawler.learn.evidence import RuleEvidence
from canonry.crawler.learn.learned_site import LearnedSite
from canonry.crawler.learn.rules.infer import opposite
from canonry.crawler.learn.rules.loose_forms import loose_path, without_www
from canonry.crawler.learn.site_records import evidence_of, save_rules
from canonry.crawler.learn.standing import oriented
from canonry.crawler.learn.text.comparison import PageAnswer, PageVerdict, compare
from canonry.storage.http_status import GONE, OK, PERMANENT_REDIRECTS
from canonry.storage.learned import rule_rows
from canonry.storage.learned.ledger import MINED
from canonry.storage.learned.rule_rows import SAMPLES

LEAST = 3  # same pages that make a candidate, if none is different
_MOST_BYTES = 1 << 29  # of all sites in memory; a site that comes back later starts anew
_MOST_KEPT = 20_000  # captures of a site that wait for its end
_SAME = PageVerdict.SAME
_OWN_PATHS = 4  # a body that more paths have is a frame, a wall or a soft 404


class Mined(NamedTuple):
    """The result of mining."""

    rules: tuple[RuleEvidence, ...]  # active ones and candidates
    redirects: int  # permanent ones
    pages: int  # captures with status 200
    other: int  # captures with another status, or redirects without a target
    refused: dict[str, int]  # captures with invalid URLs, by reason


def mine(captures: Iterable[Capture], canonicalizer: Canonicalizer) -> Mined:
    """Return the rules that the captures of an archive support, sorted.

    Args:
        captures: as `captures.read` and the like yield them.
        canonicalizer: makes identities, without learned rules.
    """
    mining = _Mining(canonicalizer)
    for capture in captures:
        mining.add(capture)
    rules = sorted(mining.rules(), key=lambda rule: rule.rewrite)
    return Mined(tuple(rules), mining.redirects, mining.pages, mining.other, mining.refused)


class _Mining:
    """Takes captures in any order, and keeps sites in memory until all of theirs were read."""

    def __init__(self, canonicalizer: Canonicalizer) -> None:
        self.redirects = self.pages = self.other = 0
        self.refused: dict[str, int] = {}
        self._identity_of = canonicalizer.identity
        self._sites: OrderedDict[str, _MinedSite] = OrderedDict()
        self._bytes = 0
        self._found: list[RuleEvidence] = []

    def add(self, capture: Capture) -> None:
        """Count a capture, and pass it to its site."""
        status = int(capture.status) if capture.status.isdecimal() else 0
        try:
            identity = self._identity_of(capture.url)
            target = self._identity_of(capture.redirect, identity) if capture.redirect else ""
        except InvalidURL as error:
            reason = error.reason.name.lower()
            self.refused[reason] = self.refused.get(reason, 0) + 1
            return
        name = without_www(site_in(identity))
        if status in PERMANENT_REDIRECTS and target:
            self.redirects += 1
            if target != identity:
                self._site(name).moved(identity, target)
        elif status == OK:
            self.pages += 1
            self._site(name).page(identity, capture, self._identity_of)
        else:
            self.other += 1
            if status in GONE:
                self._site(name).site.gone(identity, 0)

    def rules(self) -> list[RuleEvidence]:
        """Return the rules of all sites."""
        while self._sites:
            self._end(next(iter(self._sites)))
        return self._found

    def _site(self, name: str) -> "_MinedSite":
        """Return a site; if all take too much memory, end those not used for the longest time."""
        last = next(reversed(self._sites), name)
        if last != name:
            self._bytes += self._sites[last].growth()
        mined = self._sites.get(name)
        if mined is None:
            while self._bytes > _MOST_BYTES:
                self._end(next(iter(self._sites)))
            mined = self._sites[name] = _MinedSite()
        self._sites.move_to_end(name)
        return mined

    def _end(self, name: str) -> None:
        """Decide on the rules of a site, and forget it."""
        mined = self._sites.pop(name)
        self._bytes -= mined.counted
        self._found += mined.rules()


class _MinedSite:
    """The captures of one site."""

    def __init__(self) -> None:
        self.site = LearnedSite(is_mined=True)
        self._redirects: dict[str, str] = {}
        self._digests: dict[str, str] = {}  # of bodies that are not in the archive, by URL
        self._answers: dict[str, PageAnswer] = {}  # by digest
        self.counted = 0  # approximate memory in bytes, as of the last call of `growth`

    def growth(self) -> int:
        """Count the memory that it takes; return the bytes since it was counted before."""
        before = self.counted
        self.counted = self.site.pages.size + 400 * (len(self._redirects) + len(self._digests))
        return self.counted - before

    def moved(self, identity: str, target: str) -> None:
        """Note a permanent redirect."""
        self.site.moved(identity, 0, target)
        if len(self._redirects) < _MOST_KEPT:
            self._redirects[identity] = target

    def page(self, identity: str, capture: Capture, identity_of: Callable[[str], str]) -> None:
        """Note a page. One without a body waits: its digest may turn out to be a frame's."""
        if capture.headers is None:
            answer = self._answers.get(capture.digest)
            if answer is not None:
                self.site.page(identity, 0, answer, self._named(identity))
            elif capture.digest and len(self._digests) < _MOST_KEPT:
                self._digests[identity] = capture.digest
            return
        kind = capture.headers.get("Content-Type")
        document = read_document(capture.body, capture.headers, capture.url, blocks=True)
        text = read_text(capture.body, kind, document)
        answer = PageAnswer(capture.digest.encode() or capture.body, text)
        if capture.digest and len(self._answers) < _MOST_KEPT:
            self._answers[capture.digest] = answer
        canonical = None
        with suppress(InvalidURL):
            if document is not None and document.canonical is not None:
                canonical = identity_of(document.canonical)
        self.site.page(identity, 0, answer, canonical)

    def _named(self, identity: str) -> str | None:
        """Return the identity that a page named as canonical when it was captured before."""
        page = self.site.pages.get(identity)
        return None if page is None else page.names

    def rules(self) -> Iterator[RuleEvidence]:
        """Yield the rules that all captures support."""
        site, paths = self.site, dict[str, set[str]]()
        for identity, digest in self._digests.items():
            paths.setdefault(digest, set()).add(loose_path(Parts.of(identity).path))
        for identity, digest in self._digests.items():
            if len(paths[digest]) <= _OWN_PATHS:
                for _ in range(2):  # as if asked again: with other bytes, it is another page
                    site.page(identity, 0, PageAnswer(digest.encode(), None), None)
        site.assume_pages(self._redirects.values())
        for identity, target in self._redirects.items():  # now that all rules are known
            site.moved(identity, 0, target)
        site.judge_again()
        list(decide(site))
        for rule in site.rules.values():
            tally, against = rule.tally, site.rules.get(opposite(rule.rewrite), rule)
            is_opposed = against is not rule and against.tally.own_word >= tally.own_word > 0
            is_likely = tally.same >= LEAST and not tally.different and not is_opposed
            if rule.state == "active" and self._is_doubtful(rule):
                rule.state = "candidate"
            if rule.state == "active" or is_likely:
                yield rule

    def _is_doubtful(self, rule: RuleEvidence) -> bool:
        """Return True if redirects make a rule, but many pages answer whose URLs it changes.

        So it may hold for a time only, as in an outage.
        """
        tally, site = rule.tally, self.site
        if 2 * tally.own_word < tally.same:
            return False
        doubts = 0
        for page in site.pages.all():
            after = act(rule.rewrite, page.parts) if page.is_page else page.parts
            if after is page.parts or page.names is not None:
                continue
            other = site.pages.get(str(after))
            is_same = (
                other is not None
                and bool(page.answers and other.answers)
                and compare(page.answers, other.answers, site.text).verdict is _SAME
            )
            doubts += not is_same
        return doubts > limits.UNKNOWN * tally.same


def as_learned(rule: RuleEvidence) -> LearnedRule:
    """Return a mined rule for a file; it has no times, as a log need not have any."""
    tally = rule.tally
    samples = tuple(oriented(rule.rewrite, pair) for pair in list(rule.pairs)[:SAMPLES])
    evidence = Evidence(agree=tally.same, disagree=tally.different, samples=samples)
    fields = msgspec.structs.astuple(rule.rewrite)
    return LearnedRule(*fields, state=rule.state, evidence=evidence)


def put(connection: Connection, mined: Iterable[RuleEvidence], now: float) -> None:
    """Put mined rules with their pairs in the ledger of a store, as candidates.

    Stored rules keep their state, and stored pairs keep their verdict.

    Args:
        connection: in a writing transaction.
        mined: rules with their evidence.
        now: seconds since 1970.
    """
    mined_rules = {rule.rewrite: rule for rule in mined}
    stored = rule_rows.with_ids(connection, [rewrite.id for rewrite in mined_rules])
    rules = {rule.rewrite: rule for rule in evidence_of(connection, stored)}
    for rewrite, rule in mined_rules.items():
        before = rules.setdefault(rewrite, RuleEvidence(rewrite))
        for urls, pair in rule.pairs.items():
            if urls not in before.pairs:
                before.put(urls, pair._replace(source=MINED))
    save_rules(connection, rules.values(), now)

"""One site: make pairs from its answers, and evidence for rules from the pairs. Pure.

A site is a host name with and without ``www.``. This file knows neither the store nor the clock;
the caller makes the requests.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from canonry.canon.learned import FAMILIES, Rewrite, act
from canonry.canon.syntax import Parts
from canonry.crawler.learn.evidence import JudgedPair, RuleEvidence, pair_of
from canonry.crawler.learn.rules.infer import (
    as_read,
    opposite,
    rules_between,
    separator_of,
    where_names_are,
)
from canonry.crawler.learn.site_pages import PARTNERS, SitePage, SitePages
from canonry.crawler.learn.text.comparison import (
    MOST_ANSWERS,
    PageAnswer,
    PageComparison,
    PageVerdict,
    compare,
)
from canonry.crawler.learn.text.site_text import SiteText
from canonry.storage.learned.ledger import CONTENT, OWN_WORD
from canonry.storage.learned.rule_rows import IN_FORCE, URLPair

_OF_A_CLASS, _OF_FEW_CLASSES = 5, 80  # most pairs of a class, and of a rule with few classes
_HOLDS = 3  # same classes, with none different, from which a rule seems to hold
_NOTED = 64  # most queued URLs that are kept to decide a rule
_ALL_NOTED, _EVERY = 200, 8  # after this many answers, only every eighth adds to those
_TO_DECIDE = 16  # most undecided or different classes, beyond twice the same ones
_MOST_RULES = 300  # of a site
_MOST_HOPS = 5  # followed in a chain of redirects
# Targets of redirects and canonical links that have not answered yet, and URLs that lead to each.
_MOST_LED, _OF_A_TARGET = 20_000, 100
_BYTES_OF_SITE, _BYTES_OF_PAIR, _BYTES_OF_HASH = 5_000, 400, 70  # approximate
_ENOUGH_AGAINST = 6  # different classes, from which on a rule is not compared further

# Families that are proposed here. Others come from people, lists and earlier versions.
_PROPOSED = frozenset(
    (
        *("scheme-upgrade", "www", "host-alias", "path-prefix", "trailing-slash", "double-slash"),
        *("letter-case", "index-file", "session-segment", "path-parameter", "parameter-order"),
        *("parameter-anywhere", "parameter-default", "parameter-of-page", "path-slug"),
    )
)


class _Led(NamedTuple):
    """A URL that leads to a target that has not answered yet."""

    source: str
    rules: tuple[Rewrite, ...]


class LearnedSite:
    """The pages, rules and pairs of one site."""

    def __init__(self, *, is_mined: bool = False) -> None:
        """Start with nothing known.

        Args:
            is_mined: True for a site of an archive: nobody can ask again, and nothing waits.
        """
        self.is_mined = is_mined
        self.text = SiteText()
        self.pages = SitePages(self.text)
        self.rules: dict[Rewrite, RuleEvidence] = {}
        self.answers = 0
        self.extra = 0  # requests for learning alone
        self.held: list[int] = []  # ids of URLs that rules held before this run ...
        self.began = 0.0  # ... which began then; seconds since 1970
        self.suppressed = 0  # URLs that rules held, as further names of a page
        self.in_doubt: list[int] = []  # ids of URLs that differ by several rules in force
        # Ids of URLs that are other pages than a rule in force says, with the rule.
        self.wrong: list[tuple[int, Rewrite]] = []
        self._led: dict[str, list[_Led]] = {}  # by the target
        # URLs that answered before their rewritten form did, by that form.
        self._ahead: dict[str, list[tuple[str, Rewrite]]] = {}
        self._pairs: dict[URLPair, tuple[Rewrite, ...]] = {}
        self._sizes: dict[str, int] = {}  # pairs of a class
        self._open: dict[str, set[URLPair]] = {}  # pairs that more answers may change, by URL
        self.past: set[URLPair] = set()  # pairs of decided rules, not judged in this run
        self._changes = 0
        self._moving: list[Rewrite] = []
        self._noted: set[str] = set()
        self.decisive: dict[Rewrite, deque[str]] = {}  # queued URLs that would decide a rule

    @property
    def size(self) -> int:
        """The approximate memory that the site takes, in bytes."""
        pairs = len(self._pairs) + len(self._led) + len(self._ahead) + len(self._noted)
        hashes = 0
        for rule in self.rules.values():
            pairs += len(rule.pairs) + len(rule.tests)
            hashes += len(rule.classes)
        return _BYTES_OF_SITE + self.pages.size + _BYTES_OF_PAIR * pairs + _BYTES_OF_HASH * hashes

    def shrink(self, most_bytes: int) -> None:
        """Forget the oldest pages, so that all take about this much memory; rules keep theirs."""
        self.pages.shrink(most_bytes, self._open.keys())
        self._forget_pairs()

    def _forget_pairs(self) -> None:
        """Forget what is noted about URLs that are not known any more."""
        known = self.pages
        self._pairs = {p: rules for p, rules in self._pairs.items() if all(u in known for u in p)}
        self._open = {
            u: pairs & self._pairs.keys() for u, pairs in self._open.items() if u in known
        }
        self._ahead = {u: ahead for u, ahead in self._ahead.items() if ahead[0][0] in known}
        self._noted = {identity for identity in self._noted if identity in known}
        self._sizes = {}
        for rule in self.rules.values():
            for judged in rule.pairs.values():
                self._sizes[judged.key] = self._sizes.get(judged.key, 0) + 1

    def restore(self, rules: Iterable[RuleEvidence]) -> None:
        """Restore rules with their pairs; the pages have to be loaded before.

        Pairs that more answers may change are judged again. Those of decided rules are, as soon as
        both of their URLs have answered in this run: a rule is about now.
        """
        for rule in rules:
            self.rules[rule.rewrite] = rule
            if FAMILIES[rule.rewrite.family].can_chain or rule.rewrite.family not in _PROPOSED:
                self._moving.append(rule.rewrite)
            for pair, judged in rule.pairs.items():
                self._pairs.setdefault(pair, ())
                self._sizes[judged.key] = self._sizes.get(judged.key, 0) + 1
                if rule.state != "candidate" and all(identity in self.pages for identity in pair):
                    self.past.add(pair)
                    self._await(pair)
        for rule in list(self.rules.values()):
            for pair, judged in list(rule.pairs.items()):
                is_open = not (judged.own_word or judged.verdict is PageVerdict.SAME)
                if is_open and not judged.is_final:
                    self._judge(pair)

    def led(self, source: str, target: str) -> None:
        """Note that a URL led to another, by a redirect or a canonical link."""
        if source in self.pages:
            self._lead(source, target)

    def found(self, identity: str, url_id: int) -> None:
        """Note a new URL that waits in the queue."""
        self.pages.found(identity, url_id)

    def page(self, identity: str, url_id: int, answer: PageAnswer, canonical: str | None) -> None:
        """Note a page that answered with 200.

        Args:
            identity: of its URL.
            url_id: of its URL in the store; 0 if not known.
            answer: its digest and its blocks.
            canonical: the identity that it names as canonical, if any.
        """
        self.answers += 1
        page = self.pages.answered(identity, url_id)
        page.is_page, page.is_gone, page.names, page.leads = True, False, canonical, None
        self.pages.begin_visit(identity, page, answer)
        self.pages.add_answer(identity, page, answer)
        for led in self._led.pop(identity, ()):
            self._confirm(led.source, identity, led.rules)
        for pair in list(self._open.pop(identity, ())):
            self._judge(pair)
        self._noted.discard(identity)
        self._meet(identity, page)
        if canonical not in {None, identity}:
            self._lead(identity, str(canonical))
        if self.pages.trim(self._open.keys()):
            self._forget_pairs()

    def gone(self, identity: str, url_id: int) -> None:
        """Note a URL that answered 404 or 410."""
        self.answers += 1
        page = self.pages.answered(identity, url_id)
        page.is_page, page.is_gone, page.leads, page.is_current = False, True, None, True
        self._led.pop(identity, None)
        self._meet(identity, page)

    def moved(self, identity: str, url_id: int, target: str) -> None:
        """Note a permanent redirect.

        If no rules explain it, it contradicts the rules that make the URL one that does not
        redirect there, too. So one that waits in the queue is waited for.
        """
        self.answers += 1
        page = self.pages.answered(identity, url_id)
        page.leads, page.is_page, page.is_gone, page.is_current = target, False, False, True
        explained = self._lead(identity, target)
        for led in self._led.pop(identity, ()):  # what leads here leads there
            self._lead(led.source, target)
        for rule in () if explained else list(self.rules.values()):
            after = act(rule.rewrite, page.parts)
            if after is not page.parts:
                self._oppose(rule, identity, str(after))
        self._meet_moved(identity, page, self.pages.partners(identity))

    def _meet_moved(self, identity: str, page: SitePage, others: Iterable[str]) -> None:
        """Count redirects of other URLs against the rules that make them this one."""
        for other in others:
            moved = self.pages.get(other)
            if moved is None or moved.leads is None or not moved.is_current:
                continue
            if self._explains(moved.parts, moved.leads):
                continue
            for rewrite in rules_between(moved.parts, page.parts):
                for each in {rewrite, opposite(rewrite)} & self.rules.keys():
                    if str(act(each, moved.parts)) == identity:
                        self._oppose(self.rules[each], other, identity)

    def _oppose(self, rule: RuleEvidence, source: str, other: str) -> None:
        """Count a redirect against a rule that makes its source another URL, if that one stays.

        If both lead to one place, as where a page was renamed, it says nothing.
        """
        page, known = self.pages[source], self.pages.get(other)
        if (
            page.leads is None
            or known is None
            or not (known.is_page or known.is_gone or known.leads)
        ):
            return
        ends = [as_read(Parts.of(self._end_of(one))) for one in (page.leads, known.leads or other)]
        pair = pair_of(source, page.leads)
        if act(rule.rewrite, ends[0]) != act(rule.rewrite, ends[1]):
            rule.put(pair, JudgedPair(other, PageVerdict.DIFFERENT))
        elif pair in rule.pairs:  # it was not known where the other one leads now
            rule.put(pair, JudgedPair(other, PageVerdict.UNKNOWN))

    def assume_pages(self, targets: Iterable[str]) -> None:
        """Take those targets of redirects for pages of which nothing is known."""
        for target in targets:
            if target not in self.pages:
                self.pages.answered(target, 0).is_page = True
                for led in self._led.pop(target, ()):
                    self._confirm(led.source, target, led.rules)

    def may_hold(self, rewrite: Rewrite, number: int) -> bool:
        """Return True if a rule changes at least this many URLs that wait in the queue."""
        return len(list(islice(self.queued_by(rewrite), number))) == number

    def queued_by(self, rewrite: Rewrite) -> Iterator[Parts]:
        """Yield the URLs in the queue that a rule changes, as their host reads them."""
        return (parts for parts in self.pages.queued() if act(rewrite, parts) is not parts)

    def judge_again(self) -> None:
        """Judge the open pairs again, if more is known about text that changes by itself."""
        if self._changes != self.text.changes:
            self._changes = self.text.changes
            for pair in {pair for pairs in self._open.values() for pair in pairs}:
                self._judge(pair)

    def clear_suspects(self, revoked: Rewrite) -> None:
        """Let pairs that differ by a revoked rule prove nothing against others."""
        for rule in self.rules.values():
            for pair, judged in list(rule.pairs.items()) if rule.state == "suspended" else ():
                one, other = map(self.pages.get, pair)
                is_joint = one and other and revoked in rules_between(one.parts, other.parts)
                if judged.verdict is PageVerdict.DIFFERENT and is_joint:
                    rule.put(pair, judged._replace(verdict=PageVerdict.UNKNOWN))

    def rule(self, rewrite: Rewrite) -> RuleEvidence:
        """Return the evidence for a rule; a new one takes what content says about its opposite."""
        rule = self.rules.get(rewrite)
        if rule is None:
            rule = RuleEvidence(rewrite)
            if len(self.rules) >= _MOST_RULES:  # say, each link has a new parameter
                return rule
            self.rules[rewrite] = rule
            if FAMILIES[rewrite.family].can_chain:  # it moves a directory or a host
                self._moving.append(rewrite)
            against = self.rules.get(opposite(rewrite))
            if against is not None and against is not rule:
                for pair, judged in against.pairs.items():  # equal content has no direction
                    if not judged.own_word:
                        rule.put(pair, judged)
        return rule

    def _meet(self, identity: str, page: SitePage) -> None:
        """Compare a URL with the URLs that may be the same page."""
        compared, partners = 0, self.pages.partners(identity)
        self._meet_moved(identity, page, partners)
        moved = dict((*self._moved_to(identity, page), *self._ahead.pop(identity, ())))
        for other in (*moved, *partners):
            other_page = self.pages.get(other)
            if other_page is None:  # it was forgotten
                continue
            if not other_page.has_answered:
                self._note_queued(page, other)
            if not (other_page.is_page or other_page.is_gone):  # it waits, or redirects
                continue
            if compared >= 2 * PARTNERS:
                break
            pair = pair_of(identity, other)
            if pair not in self._pairs:
                rules = self._rules_of(page, other_page)
                if other in moved and moved[other] not in rules:
                    rules = (moved[other],)
                if not rules or any(map(self._selects, rules)):
                    continue
                key = self._class_of(pair, rules)
                if self._is_full(key, rules):
                    continue
                self._pairs[pair] = rules
                self._sizes[key] = self._sizes.get(key, 0) + 1
            compared += self._judge(pair)

    def _moved_to(self, identity: str, page: SitePage) -> Iterator[tuple[str, Rewrite]]:
        """Yield the URLs that rules about hosts and directories make of a URL, with the rule."""
        for rewrite in self._moving:
            after = act(rewrite, page.parts)
            if after is page.parts:
                continue
            moved, known = str(after), self.pages.get(str(after))
            if known is not None:
                yield moved, rewrite
            if not (known and known.has_answered) and len(self._ahead) < _MOST_LED:
                self._ahead.setdefault(moved, []).append((identity, rewrite))

    def _note_queued(self, page: SitePage, other: str) -> None:
        """Note a queued URL whose answer would complete a pair, and so may decide a rule."""
        is_turn = self.answers < _ALL_NOTED or self.answers % _EVERY == 0
        if is_turn and self.pages.is_queued(other) and other not in self._noted:
            self._noted.add(other)
            rules = self._rules_of(page, self.pages[other])
            for rule in self._to_decide(rules):
                self.decisive.setdefault(rule.rewrite, deque(maxlen=_NOTED)).append(other)

    def _rules_of(self, one: SitePage, other: SitePage) -> tuple[Rewrite, ...]:
        """Return the rules that together make two URLs equal.

        A parameter that selects on some pages may select nothing beside certain other parameters.
        """
        if one.parts == other.parts:  # only their separators differ
            return (separator_of(one.parts),)
        rules = rules_between(one.parts, other.parts)
        if len(rules) == 1 and (whole := self.rules.get(rules[0])) and whole.is_out:
            return (where_names_are(rules[0], one.parts, other.parts),)
        return rules

    def _selects(self, rewrite: Rewrite) -> bool:
        """Return True if a rule is known not to hold, or enough of its classes are undecided."""
        tally = self._either_way(rewrite).tally
        alike = tally.same + tally.in_part  # it may hold in a part of the site
        is_wrong = tally.different > _ENOUGH_AGAINST + 2 * alike
        return is_wrong or tally.unknown + tally.different >= _TO_DECIDE + 2 * alike

    def _is_full(self, key: str, rules: tuple[Rewrite, ...]) -> bool:
        """Return True if a class has enough pairs, unless one may tell which rule is wrong."""
        if len(rules) == 1 and self.rule(rules[0]).state == "suspended":
            return False
        fewest = min(self.rule(rewrite).tally.same for rewrite in rules)
        return self._sizes.get(key, 0) >= max(_OF_A_CLASS, _OF_FEW_CLASSES // max(1, fewest))

    def _class_of(self, pair: URLPair, rules: Iterable[Rewrite]) -> str:
        """Return the URL that rules make of a pair."""
        parts = self.pages[pair[0]].parts
        for rewrite in rules:
            parts = act(rewrite, parts)
        return str(parts)

    def _judge(self, pair: URLPair) -> bool:
        """Judge a pair; return True if its URLs could be compared."""
        page, other = map(self.pages.get, pair)
        if page is None or other is None:  # it was forgotten
            return False
        is_now = page.is_current and other.is_current
        is_gone = page.is_gone or other.is_gone  # now, or as of an earlier run
        if not is_now and (is_gone or pair in self.past):
            self._await(pair)
            return False
        rules = self._pairs[pair] or self._rules_of(page, other)
        if is_gone:
            if page.is_page or other.is_page:  # the other one does not redirect
                self._count(pair, rules, PageComparison(PageVerdict.DIFFERENT), MOST_ANSWERS)
            return True
        if not (page.is_page and other.is_page):  # one of them redirects
            return False
        answers = min(len(page.answers), len(other.answers))
        if answers:
            comparison = compare(page.answers, other.answers, self.text)
            if comparison.verdict is PageVerdict.DIFFERENT and not is_now:
                # One may have changed, or moved, since the other was asked.
                stale = not page.is_current
                comparison = PageComparison(PageVerdict.UNKNOWN, stale, not stale)
            if pair not in self.past or comparison.verdict is not PageVerdict.UNKNOWN:
                self._count(pair, rules, comparison, answers)
                self.past.discard(pair)
        else:  # they were forgotten
            comparison = PageComparison(PageVerdict.UNKNOWN, not page.answers, not other.answers)
        if comparison.verdict is PageVerdict.DIFFERENT and answers < MOST_ANSWERS:  # not final
            first = len(page.answers) <= len(other.answers)
            comparison = comparison._replace(ask_first=first, ask_second=not first)
        self._open_or_close(pair, rules, comparison)
        return bool(answers)

    def _open_or_close(
        self, pair: URLPair, rules: tuple[Rewrite, ...], comparison: PageComparison
    ) -> None:
        """Note whether more answers may change the verdict on a pair."""
        is_open = comparison.ask_first or comparison.ask_second
        for rule in self._both_ways(rules):
            rule.open.pop(pair, None)
        if is_open:
            for rule in self._suspects(rules, comparison) or self._to_decide(rules):
                rule.open[pair] = comparison
        if is_open or comparison.verdict is PageVerdict.UNKNOWN:
            self._await(pair)

    def _await(self, pair: URLPair) -> None:
        """Judge a pair again when one of its URLs answers."""
        for identity in pair:
            self._open.setdefault(identity, set()).add(pair)

    def _count(
        self, pair: URLPair, rules: tuple[Rewrite, ...], comparison: PageComparison, answers: int
    ) -> None:
        """Count a pair for the rules that make its URLs equal.

        If both are the same page, all rules hold. If not, one of them is wrong: the pair counts
        against the one with the least evidence. Of several in force it does not tell which: none of
        them acts until other names of the page do.
        """
        is_same = comparison.verdict is PageVerdict.SAME
        counted = JudgedPair(self._class_of(pair, rules), comparison.verdict, CONTENT, answers)
        blamed = self._both_ways(rules) if is_same else self._to_decide(rules)
        if is_same:
            self._note_separator(pair, counted)
        elif suspects := self._suspects(rules, comparison):
            blamed = iter(suspects)
            before = suspects[0].pairs.get(pair)
            if before is None or before.verdict is not PageVerdict.DIFFERENT:
                self.in_doubt += [self.pages[identity].url_id for identity in pair]
            counted = counted._replace(answers=min(answers, MOST_ANSWERS - 1))  # not final
        for rule in blamed:
            is_wrong = counted.verdict is PageVerdict.DIFFERENT and counted.is_final
            if is_wrong and rule.state in IN_FORCE and rule.pairs.get(pair) != counted:
                self.wrong.append((max(self.pages[u].url_id for u in pair), rule.rewrite))
            rule.put(pair, counted, comparison.share)

    def _suspects(
        self, rules: tuple[Rewrite, ...], comparison: PageComparison
    ) -> list[RuleEvidence]:
        """Return the rules in force of a pair that differs, if there are several."""
        if comparison.verdict is not PageVerdict.DIFFERENT or len(rules) == 1:
            return []
        found = [rule for rule in self._both_ways(rules) if rule.state in IN_FORCE]
        return found if len(found) > 1 else []

    def _note_separator(self, pair: URLPair, judged: JudgedPair) -> None:
        """Count an equal pair for the rule about semicolons, if a URL has them as separators."""
        for identity in pair:
            parts = Parts.of(identity)
            if parts != self.pages[identity].parts:
                self.rule(separator_of(parts)).put(pair, judged)
                return

    def _to_decide(self, rules: tuple[Rewrite, ...]) -> Iterator[RuleEvidence]:
        """Yield the rule that a pair could decide: the weakest of its rules, if all others hold."""
        if not rules:
            return
        weakest = min(rules, key=lambda rewrite: self._strength(self._either_way(rewrite)))
        if all(rewrite == weakest or self._holds(rewrite) for rewrite in rules):
            yield from self._both_ways((weakest,))

    def _both_ways(self, rules: Iterable[Rewrite]) -> Iterator[RuleEvidence]:
        """Yield rules, each followed by its opposite if there is one."""
        for rewrite in rules:
            yield self.rule(rewrite)
            against = opposite(rewrite)
            if against != rewrite and against in self.rules:
                yield self.rules[against]

    def _holds(self, rewrite: Rewrite) -> bool:
        """Return True if a rule is active, or seems to hold."""
        rule = self._either_way(rewrite)
        return rule.state == "active" or (rule.tally.same >= _HOLDS and not rule.tally.different)

    def _either_way(self, rewrite: Rewrite) -> RuleEvidence:
        """Return a rule or its opposite, whichever has more evidence."""
        rule = self.rule(rewrite)
        return max(rule, self.rules.get(opposite(rewrite), rule), key=self._strength)

    @staticmethod
    def _strength(rule: RuleEvidence) -> tuple[bool, int]:
        return rule.state == "active", rule.tally.same

    def _lead(self, source: str, target: str) -> bool:
        """Note where the site's own word leads from a URL; return True if rules explain it."""
        target = self._end_of(target)
        rules = self._explains(as_read(Parts.of(source)), target)
        if not rules:
            return False
        page = self.pages.get(target)
        if page is None or not page.has_answered:
            led = self._led.get(target, [])
            if len(led) < _OF_A_TARGET and (led or len(self._led) < _MOST_LED):
                self._led.setdefault(target, led).append(_Led(source, rules))
        elif page.is_page:
            self._confirm(source, target, rules)
        return True

    def _explains(self, source: Parts, target: str) -> tuple[Rewrite, ...]:
        """Return the rules for which the site's own word from a URL to another one speaks."""
        return rules_between(source, as_read(Parts.of(self._end_of(target))), led=True)

    def _end_of(self, target: str) -> str:
        """Follow the known permanent redirects from a URL; return where they end."""
        for _ in range(_MOST_HOPS):
            page = self.pages.get(target)
            if page is None or page.leads is None:
                break
            target = page.leads
        return target

    def _confirm(self, source: str, target: str, rules: tuple[Rewrite, ...]) -> None:
        """Count the site's own word, if the target is a page that names no other as canonical."""
        target_page, source_page = self.pages[target], self.pages.get(source)
        if target_page.names not in {None, target}:
            return
        if source_page is not None and source_page.answers and target_page.answers:
            comparison = compare(source_page.answers, target_page.answers, self.text)
            if comparison.verdict is PageVerdict.DIFFERENT:
                return
        open_ones = [rewrite for rewrite in rules if not self._holds(rewrite)]
        pair = pair_of(source, target)
        # The words beside an id have no right form: the class is named without.
        is_slug = rules[0].family == "path-slug"
        key = str(act(rules[0], target_page.parts)) if is_slug else target
        for rewrite in open_ones if len(open_ones) == 1 else rules:
            self.rule(rewrite).put(pair, JudgedPair(key, PageVerdict.SAME, OWN_WORD))
            against = self.rules.get(opposite(rewrite))
            if against is not None and against.rewrite != rewrite:
                against.put(pair, JudgedPair(target, PageVerdict.DIFFERENT))

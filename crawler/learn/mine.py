"""Mining: get evidence for rules from logs of redirects instead of a crawl.

A log says where URLs led, but not what content was there. So mined rules are only candidates:
a crawl decides.
"""

from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection

from canonry.canon import Canonicalizer, InvalidURL
from canonry.canon.learned import Evidence, LearnedRule, Rewrite, act, site_of
from canonry.canon.syntax import Parts
from canonry.crawler.files.redirect_logs import LoggedRedirect
from canonry.crawler.learn.evidence import JudgedPair, RuleEvidence, pair_of
from canonry.crawler.learn.rules.infer import opposite, rules_between
from canonry.crawler.learn.site_records import evidence_of, save_rules
from canonry.crawler.learn.standing import oriented
from canonry.crawler.learn.text.comparison import PageVerdict
from canonry.storage.http_status import PERMANENT_REDIRECTS
from canonry.storage.learned import rule_rows
from canonry.storage.learned.ledger import MINED
from canonry.storage.learned.tracked_rule import SAMPLES

LEAST = 3  # same pages that make a candidate, if none is different
_PERMANENT = frozenset(map(str, PERMANENT_REDIRECTS))
_MOST_UNEXPLAINED = 10_000  # redirects of a site that are held against its rules


class SeenPair(NamedTuple):
    """Two identities with a verdict that needed no crawl."""

    source: str
    target: str
    verdict: PageVerdict = PageVerdict.SAME
    by: int = MINED  # the source that the ledger names for it
    led: bool = True  # the first leads to the second, which gives rules a direction


class Mined(NamedTuple):
    """The result of mining a log."""

    rules: tuple[RuleEvidence, ...]  # candidates
    pairs: int  # permanent redirects
    other: int  # lines with another status, or without a target
    refused: dict[str, int]  # lines that could not be read, by reason


def mine(pairs: Iterable[LoggedRedirect], canonicalizer: Canonicalizer) -> Mined:
    """Return the candidates that the redirects of a log support.

    Args:
        pairs: as `redirect_logs.read` yields them.
        canonicalizer: makes identities, without learned rules.
    """
    refused: dict[str, int] = {}
    used = other = 0

    def seen() -> Iterator[SeenPair]:
        nonlocal used, other
        for _number, old, new, status in pairs:
            if status not in _PERMANENT or not new:
                other += 1
                continue
            try:
                source = canonicalizer.identity(old)
                target = canonicalizer.identity(new, source)
            except InvalidURL as error:
                name = error.reason.name.lower()
                refused[name] = refused.get(name, 0) + 1
                continue
            used += 1
            yield SeenPair(source, target)

    rules = candidates(seen())
    return Mined(tuple(rules), used, other, refused)


def candidates(seen: Iterable[SeenPair]) -> list[RuleEvidence]:
    """Return the rules with enough evidence and nothing against them, sorted.

    A redirect that no rules explain contradicts the rules that rewrite its URL to a third one, if
    that one was seen, too.

    Args:
        seen: pairs in any order.
    """
    rules: dict[Rewrite, RuleEvidence] = {}
    unexplained: dict[str, list[tuple[Parts, Parts]]] = {}
    for source, target, verdict, by, led in seen:
        source_parts, target_parts = Parts.of(source), Parts.of(target)
        rewrites = rules_between(source_parts, target_parts, led=led)
        # Of several rewrites between pages that differ, one is wrong: nobody knows which.
        if rewrites and (verdict is PageVerdict.SAME or len(rewrites) == 1):
            parts = source_parts
            for rewrite in reversed(rewrites):  # parameters first: their rules name the first host
                parts = act(rewrite, parts)
            judged = JudgedPair(str(parts), verdict, by, answers=1)
            for rewrite in rewrites:
                rule = rules.setdefault(rewrite, RuleEvidence(rewrite))
                before = rule.pairs.get(pair_of(source, target))
                if before is None or _rank(judged) > _rank(before):
                    rule.put(pair_of(source, target), judged)
        elif led and source != target and verdict is PageVerdict.SAME:
            redirects = unexplained.setdefault(site_of(source_parts), [])
            if len(redirects) < _MOST_UNEXPLAINED:
                redirects.append((source_parts, target_parts))
    seen_urls = {url for rule in rules.values() for urls in rule.pairs for url in urls}
    seen_urls |= {
        str(url) for redirects in unexplained.values() for urls in redirects for url in urls
    }
    enough = [r for r in rules.values() if r.tally.same >= LEAST and not r.tally.different]
    return sorted(
        (
            rule
            for rule in enough
            if opposite(rule.rewrite) not in rules.keys() - {rule.rewrite}
            and not _is_contradicted(
                rule.rewrite, unexplained.get(rule.rewrite.host, ()), seen_urls
            )
        ),
        key=lambda rule: rule.rewrite,
    )


def _rank(pair: JudgedPair) -> tuple[bool, int]:
    """Return the sort key of two verdicts on a pair; the larger one counts."""
    return pair.verdict is PageVerdict.DIFFERENT, -pair.source


def _is_contradicted(
    rewrite: Rewrite, unexplained: Iterable[tuple[Parts, Parts]], seen_urls: Container[str]
) -> bool:
    """Return True if a URL led elsewhere than to the known URL that a rule makes of it."""
    for source, target in unexplained:
        after = act(rewrite, source)
        if after is not source and act(rewrite, target) != after and str(after) in seen_urls:
            return True
    return False


def as_candidate(rule: RuleEvidence) -> LearnedRule:
    """Return a mined rule for a file; it has no times, as a log need not have any."""
    tally = rule.tally
    samples = tuple(oriented(rule.rewrite, pair) for pair in list(rule.pairs)[:SAMPLES])
    evidence = Evidence(agree=tally.same, disagree=tally.different, samples=samples)
    fields = msgspec.structs.astuple(rule.rewrite)
    return LearnedRule(*fields, state="candidate", evidence=evidence)


def put(connection: Connection, mined: Iterable[RuleEvidence], now: float) -> None:
    """Put mined rules with their pairs in the ledger of a store.

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
                before.put(urls, pair)
    save_rules(connection, rules.values(), now)

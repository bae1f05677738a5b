"""Load and save a learned site: its rules with their pairs, and the answers of its pages."""

from collections.abc import Collection, Iterable

from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.canon.learned import RULE_STATES, without_port
from canonry.crawler.learn import limits
from canonry.crawler.learn.evidence import ClassTally, JudgedPair, RuleEvidence
from canonry.crawler.learn.learned_site import LearnedSite
from canonry.crawler.learn.text.comparison import PageAnswer, PageVerdict
from canonry.storage import State
from canonry.storage.http_status import GONE, OK
from canonry.storage.learned import host_urls, ledger, rule_rows
from canonry.storage.learned.host_urls import PastURL
from canonry.storage.learned.ledger import StoredPair
from canonry.storage.learned.rule_rows import IN_FORCE, TrackedRule

_URLS = 4_000  # of a site that are loaded: the latest
_MOST_COUNTED = 100_000  # answers of a site
_FIRST_PAGES = 3
VERDICTS = (PageVerdict.UNKNOWN, PageVerdict.SAME, PageVerdict.DIFFERENT)  # as stored


def load(
    connection: Connection,
    name: str,
    canonicalizer: Canonicalizer,
    site: LearnedSite,
    *,
    whole: bool = True,
    since: float = 0.0,
) -> None:
    """Load a site from the store.

    Args:
        connection: in a transaction.
        name: of the site, without ``www.``.
        canonicalizer: makes identities, without learned rules.
        site: a new one.
        whole: False loads its rules alone, and if there are any, how many of its URLs answered.
        since: when the last run ended: answers since are of the same time; seconds since 1970.
    """
    sites = (name, f"www.{name}")
    hosts = [without_port(one) for one in sites]
    rules = rule_rows.of_hosts(connection, sites, RULE_STATES)
    if not whole and not rules:
        return
    host_urls.index(connection)
    site.answers = host_urls.number_answered(connection, hosts, _MOST_COUNTED)
    site.began = since
    if since and any(rule.state in IN_FORCE for rule in rules):
        site.held = host_urls.held(connection, hosts, _MOST_COUNTED)
        site.suppressed = len(site.held)
    past_urls = host_urls.latest(connection, hosts, _URLS) if whole else []
    for past in past_urls:
        _add_url(site, past, canonicalizer, since)
    moved = {past.url_id for past in past_urls if past.state == State.REDIRECTED}
    answers = list(ledger.answers_of(connection, hosts)) if whole else []
    known = {(answer.url_id, answer.digest) for answer in answers}
    # A page of this run that is none of its URL's answers came after them: they are of another run.
    outdated = {
        past.url_id
        for past in past_urls
        if past.asked >= since > 0
        and past.status == OK
        and past.digest is not None
        and (past.url_id, past.digest) not in known
    }
    site.pages.forgotten += outdated & {answer.url_id for answer in answers}
    for answer in answers:
        if answer.url_id in outdated:
            continue
        identity = canonicalizer.identity(answer.url)
        page = site.pages.answered(identity, answer.url_id)
        page.is_page = not page.is_gone and answer.url_id not in moved
        is_repeat = bool(page.answers) and page.is_current
        page.requested += is_repeat
        site.extra += is_repeat
        site.pages.add_answer(identity, page, PageAnswer(answer.digest, answer.blocks))
    for past in past_urls:
        if past.state == State.QUEUED:
            site.pages.waits(canonicalizer.identity(past.url))
    if not whole:
        site.extra = limits.BASE_REQUESTS  # what it may ask for before it suppresses, it has
    site.pages.unsaved.clear()
    site.restore(evidence_of(connection, rules))
    led = [past.url_id for past in past_urls if past.state == State.REDIRECTED or past.canonical]
    for hop in host_urls.open_hops(connection, led) if led else ():
        site.led(canonicalizer.identity(hop.url), canonicalizer.identity(hop.target))


def first_pages_of(connection: Connection, name: str, until: float) -> list[str]:
    """Return the URLs of some pages of a site that was loaded.

    Args:
        connection: in a transaction.
        name: of the site, without ``www.``.
        until: those fetched before this time; seconds since 1970.
    """
    hosts = [without_port(one) for one in (name, f"www.{name}")]
    return host_urls.first_pages(connection, hosts, _FIRST_PAGES, until)


def _add_url(site: LearnedSite, past: PastURL, canonicalizer: Canonicalizer, since: float) -> None:
    """Add a stored URL to a site."""
    identity = canonicalizer.identity(past.url)
    if past.state == State.QUEUED:
        site.pages.found(identity, past.url_id)
        return
    page = site.pages.answered(identity, past.url_id)
    page.is_page = past.state == State.FETCHED and past.status == OK
    page.is_gone = past.status in GONE
    page.is_current = past.asked >= since
    if past.canonical is not None:
        page.names = canonicalizer.identity(past.canonical)


def evidence_of(
    connection: Connection, stored: Collection[TrackedRule]
) -> Collection[RuleEvidence]:
    """Return stored rules with their evidence, in the given order."""
    evidence_by_id = {
        rule.id: RuleEvidence(
            rule.rewrite,
            rule.state,
            tests_before=rule.tests,
            first_seen=rule.first_seen,
            entered_at=rule.entered_at,
        )
        for rule in stored
    }
    for pair in ledger.pairs_of(connection, evidence_by_id):
        judged = JudgedPair(pair.class_url, VERDICTS[pair.verdict], pair.source, pair.answers)
        evidence_by_id[pair.rule_id].restore((pair.first, pair.second), judged)
    for rule in stored:
        evidence = evidence_by_id[rule.id]
        counts = evidence.tally
        same = max(0, rule.agree - counts.same)
        evidence.given = ClassTally(
            same,
            max(0, rule.disagree - counts.different),
            own_word=max(0, rule.confirmed - counts.own_word),
            mined=same,
        )
    return evidence_by_id.values()


def save(connection: Connection, site: LearnedSite, now: float) -> None:
    """Save the rules of a site whose evidence has changed, and its new answers.

    Args:
        connection: in a writing transaction.
        site: the site to save.
        now: seconds since 1970.
    """
    rules = site.rules.values()
    changed = [rule for rule in rules if rule.unsaved or len(rule.tests) > rule.tests_saved]
    if not changed:
        return
    save_rules(connection, changed, now)
    pages = site.pages
    answers = [
        (pages[identity].url_id, number, answer.digest, answer.encoded)
        for identity in pages.unsaved
        if pages[identity].url_id
        for number, answer in enumerate(pages[identity].answers)
    ]
    ledger.forget_answers(connection, pages.forgotten)
    ledger.put_answers(connection, answers)
    pages.forgotten.clear()
    pages.unsaved.clear()


def save_rules(connection: Connection, rules: Collection[RuleEvidence], now: float) -> None:
    """Save rules, and those of their pairs that have changed.

    Args:
        connection: in a writing transaction.
        rules: the rules to save.
        now: seconds since 1970.
    """
    rule_rows.put(connection, [as_stored(rule, now) for rule in rules])
    ledger.put_pairs(connection, (pair for rule in rules for pair in _unsaved_of(rule, now)))
    for rule in rules:
        rule.unsaved.clear()
        rule.tests_saved = len(rule.tests)


def as_stored(rule: RuleEvidence, now: float) -> TrackedRule:
    """Return a rule as the store keeps it."""
    counts = rule.tally
    rule.first_seen = rule.first_seen or now
    rule.entered_at = rule.entered_at or now
    return TrackedRule(
        rule.rewrite,
        state=rule.state,
        agree=counts.same,
        disagree=counts.different,
        confirmed=counts.own_word,
        tests=rule.tests_before + len(rule.tests),
        first_seen=rule.first_seen,
        last_seen=now,
        entered_at=rule.entered_at,
    )


def _unsaved_of(rule: RuleEvidence, now: float) -> Iterable[StoredPair]:
    """Yield the pairs of a rule that have changed since the last save."""
    for pair in rule.unsaved:
        judged = rule.pairs[pair]
        verdict = VERDICTS.index(judged.verdict)
        yield StoredPair(
            rule.rewrite.id, *pair, judged.key, verdict, judged.source, judged.answers, now
        )

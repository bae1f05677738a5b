"""Ask a store about one URL. A pure function over a connection: it changes nothing."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace
from sqlalchemy import Connection

from canonry.canon import Canonicalizer, Change, InvalidURL, Reason, redact, redaction
from canonry.canon.pipeline import merging_rules
from canonry.canon.syntax import to_text
from canonry.crawler.admission import exclusions
from canonry.crawler.admission.url_filter import is_fetched
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.inquiry import known_facts, remedies
from canonry.crawler.inquiry.known_facts import Question
from canonry.crawler.inquiry.last_crawl import last_crawl, limits_of, policy_of, settings_of
from canonry.crawler.inquiry.url_answer import (
    CrawlFacts,
    RedirectFacts,
    RuleFacts,
    StepFacts,
    URLAnswer,
)
from canonry.crawler.plurals import counted
from canonry.storage import State
from canonry.storage.clusters.equivalences import Equivalences
from canonry.storage.reading import known_url
from canonry.storage.reading.known_url import KnownURL
from canonry.storage.records import NOFOLLOW
from canonry.storage.rows.redirect_chains import chains
from canonry.storage.steering import steered_patterns
from canonry.storage.timestamps import iso

_NEVER_SEEN = "no page, redirect or sitemap that was read has named it"
_ENDLESS = "its redirects lead in a circle, and to no page"
_MEMBERS = 25  # URLs of one resource that are looked for


def ask(
    connection: Connection,
    text: str | bytes,
    now: float,
    policy: str | None = None,
) -> URLAnswer:
    """Return all that a store knows of a URL; for an invalid text, why it is invalid.

    This reads by keys and indexes only, so it is as fast in a store of any size.

    Args:
        connection: to a store.
        text: the URL, however it is written.
        now: seconds since 1970.
        policy: the store's policy, as a preset's name or a TOML file; None: as its crawl named it.

    Raises:
        PolicyError, StoreError: if the store's keys cannot be made.
    """
    crawl = last_crawl(connection)
    canonicalizer = Canonicalizer(policy_of(connection, crawl, policy))
    label = canonicalizer.policy.label
    try:
        canonical = canonicalizer(text)
    except InvalidURL as error:
        shown = redaction.redact_refused(error.text)[0]
        hint = [] if "://" in shown else [f"did you mean https://{shown} ?"]
        return URLAnswer(
            asked=shown,
            state="invalid",
            reason=error.reason.name.lower(),
            because=error.reason.value,
            policy=label,
            remedies=hint,
        )
    stored_url = known_url.find(connection, canonical.key)
    limits = None if crawl is None else limits_of(connection, crawl, canonicalizer)
    question = Question(connection, canonicalizer, canonical, stored_url, crawl, limits, now)
    answer = URLAnswer(
        asked=redact(to_text(text)),
        state="never-seen",
        because=_NEVER_SEEN,
        url=redact(canonical.url),
        identity=redact(canonical.identity),
        key=canonical.key.hex(),
        surt=canonicalizer.surt_of(redact(canonical.identity)),
        steps=steps_of(canonicalizer.explain(text).steps),
        policy=label,
        robots=known_facts.robots(question),
        scope=known_facts.scope(question),
        budgets=known_facts.budgets(question),
        crawl=None
        if crawl is None
        else CrawlFacts(
            state=crawl.state, started_at=iso(crawl.started_at), ended_at=iso(crawl.ended_at)
        ),
    )
    if stored_url is None:
        return _never_seen(question, answer)
    return replace(
        _known(question, stored_url, answer),
        row=stored_url.url_id,
        resource=known_facts.resource(connection, stored_url.url_id, _MEMBERS),
    )


def steps_of(changes: Iterable[Change]) -> list[StepFacts]:
    """Return what rules of a policy did to a URL, without passwords."""
    return [
        StepFacts(
            name=change.name,
            before=redact(change.before),
            after=redact(change.after),
            why=change.why,
            cites=change.cites,
            rung=change.rung.name.lower(),
            lossless=change.lossless,
        )
        for change in changes
    ]


def _known(question: Question, stored_url: KnownURL, answer: URLAnswer) -> URLAnswer:
    """Add what the store knows of a URL that it has seen."""
    connection = question.connection
    is_queued = stored_url.state is State.QUEUED
    waits = max(stored_url.due, stored_url.host_ready_at)
    merged_by = None
    if stored_url.url != question.canonical.url:
        merged_by = merging_rules(
            question.canonicalizer, question.canonical.url, stored_url.raw_url or stored_url.url
        )
    representative = Equivalences(connection).representative(stored_url.url_id, awaited=True)
    rules = (
        known_facts.rules(question, representative.url)
        if stored_url.reason == HoldReason.LEARNED.label
        else []
    )
    reason = stored_url.reason
    [[_first, *chain]] = chains(connection, [stored_url.url_id])
    return replace(
        answer,
        state=stored_url.state.name.lower(),
        reason=reason,
        because=_because(stored_url.state, reason, stored_url.url)
        or _of_circle(question, stored_url),
        known_as=redact(stored_url.url) if stored_url.url != question.canonical.url else None,
        merged_by=merged_by or None,
        found=known_facts.found(connection, stored_url),
        attempts=stored_url.attempts + (stored_url.state is State.FAILED),
        settled_at=None if is_queued else iso(stored_url.due),
        not_before=iso(waits) if is_queued and waits > question.now else None,
        waiting=stored_url.host_queued,
        page=known_url.page_of(connection, stored_url.url_id),
        revisits=known_facts.revisits(connection, stored_url.url_id),
        redirects=[
            RedirectFacts(
                status=led.status,
                to=redact(led.url),
                state=led.state.name.lower(),
                reason=led.reason,
                answer=led.answer,
                last_seen=iso(led.led_at),
            )
            for led in chain
        ],
        same_as=redact(representative.url) if representative.steps else None,
        by_way_of=[redact(step.to) for step in representative.steps[:-1]],
        gone=known_facts.gone_names(question, rules),
        rules=rules,
        remedies=_remedies(question, stored_url, answer, rules),
    )


def _because(state: State, reason: str | None, url: str) -> str | None:
    """Return a reason as a sentence. The reason of a redirect is about its target."""
    if reason is None:
        return None
    invalid = {one.name.lower(): one.value for one in Reason}
    sentence = remedies.sentence_about(url, reason) or invalid.get(reason)
    if state is State.REDIRECTED and sentence is not None:
        return f"the target of its redirect cannot be fetched: {sentence}"
    if state is State.FETCHED and sentence is not None and reason != HoldReason.WALL.label:
        return f"the page is there, and could not be fetched again: {sentence}"
    return sentence


def _of_circle(question: Question, stored_url: KnownURL) -> str | None:
    """Return that the redirects of a URL lead to no end, if they do."""
    if stored_url.state is not State.REDIRECTED or stored_url.reason is not None:
        return None
    [chain] = chains(question.connection, [stored_url.url_id])
    is_endless = chain[-1].state is State.REDIRECTED and chain[-1].reason is None
    return _ENDLESS if is_endless else None


def _remedies(
    question: Question, stored_url: KnownURL, answer: URLAnswer, rules: Sequence[RuleFacts]
) -> list[str]:
    """Return what changes the state of a known URL."""
    is_refused = stored_url.state in {State.HELD, State.FAILED}
    shows_wall = stored_url.state is State.FETCHED and stored_url.reason == HoldReason.WALL.label
    if (is_refused or shows_wall) and stored_url.reason is not None:
        remedy = remedies.remedy(
            stored_url.reason, _case(question, stored_url.depth, stored_url.hops, rules)
        )
        return [] if remedy is None else [remedy]
    if stored_url.state is not State.QUEUED or question.crawl is None or question.crawl.is_running:
        return []
    if answer.robots is not None and not answer.robots.allows:
        return [f"the next crawl will hold it: {HoldReason.ROBOTS.value}"]
    most = question.crawl.settings.crawl.max_pages
    if question.crawl.state == "finished" and most:
        return [f"--max-pages, where the last crawl stopped (it was {most:,})"]
    return ["the same crawl command again: it resumes, and requests the URL when its turn comes"]


def _never_seen(question: Question, answer: URLAnswer) -> URLAnswer:
    """Add what would become of a URL that the store has never seen, if a page named it."""
    rules = known_facts.rules(question, question.url)
    representative = _represented_by(question, rules)
    reason = _reason_to_hold(question, answer, is_represented=representative is not None)
    if reason is HoldReason.SCHEME:
        shown = redaction.redact_refused(answer.asked)[0]
        said = {"reason": reason.label, "because": reason.value}
        return URLAnswer(asked=shown, state="invalid", policy=answer.policy, **said)
    if reason is None:
        if rules:  # the first URL of a class is fetched, and represents it
            same = (
                f"{_NEVER_SEEN}; if one did, it would be fetched for all that a rule makes the same"
            )
            return replace(answer, because=same, rules=rules)
        unfollowed = known_url.links_refused(question.connection, NOFOLLOW)
        if not unfollowed:
            return answer
        return replace(
            answer,
            because=f"{_NEVER_SEEN}; {counted(unfollowed, 'link')} marked nofollow did not count",
            remedies=["--config crawl.respect_nofollow=false, if such a link names it"],
        )
    remedy = remedies.remedy(reason.label, _case(question, 0, 0, rules))
    then = f"it would be held: {reason.value}"
    if reason is HoldReason.LEARNED and representative is not None:
        then = f"a learned rule would let {redact(representative.url)} be fetched in its place"
    return replace(
        answer,
        because=f"{_NEVER_SEEN}; if one did, {then}",
        reason=reason.label,
        rules=rules,
        same_as=None if representative is None else redact(representative.url),
        remedies=[] if remedy is None else [remedy],
    )


def _represented_by(question: Question, rules: Sequence[RuleFacts]) -> KnownURL | None:
    """Return the known URL that would be fetched instead of one that rules change."""
    if not rules:
        return None
    key = bytes.fromhex(rules[-1].key)
    return known_url.find_class(question.connection, key) or known_url.find(
        question.connection, key
    )


def _reason_to_hold(
    question: Question, answer: URLAnswer, *, is_represented: bool
) -> HoldReason | None:
    """Return the first reason for which a crawl like the last one would not fetch a URL."""
    if not is_fetched(question.url):
        return HoldReason.SCHEME
    hold = None if question.limits is None else question.limits.judge(question.url)[1].reason
    if hold is not None:
        return hold
    if exclusions.keeps(question.connection)(question.url):
        return HoldReason.PATTERN_EXCLUDED
    for budget in answer.budgets:
        if budget.count >= budget.limit:
            return next(one for one in HoldReason if one.label == budget.reason)
    if is_represented:
        return HoldReason.LEARNED
    is_held = answer.robots is not None and not answer.robots.allows
    return HoldReason.ROBOTS if is_held else None


def _case(question: Question, depth: int, hops: int, rules: Sequence[RuleFacts]) -> remedies.Case:
    """Return what the remedy of a URL depends on."""
    crawl = question.crawl
    seeds = () if crawl is None else crawl.seeds
    ids = [rule.id for rule in rules]
    excluded = steered_patterns.holding(question.connection)
    return remedies.Case(question.url, depth, hops, settings_of(crawl), seeds, ids, excluded)

"""What a store knows of one URL, in lines for people: the same in a terminal and on a page."""

from collections.abc import Iterator
from typing import NamedTuple

from canonry.crawler.inquiry.url_answer import URLAnswer
from canonry.crawler.plurals import counted, lasting
from canonry.storage.timestamps import moment

_MEMBERS = 5  # URLs of its resource that are shown
_WAY = 4  # pages that are shown between a URL and its seed


class LinkedURL(str):
    """A URL in a line: a page links it to what the store knows of it."""

    __slots__ = ()


class RuleId(str):
    """The id of a learned rule in a line: a page links it to the rule."""

    __slots__ = ()


class URLLine(NamedTuple):
    """A fact with its name; "" goes on with the fact before."""

    name: str
    parts: tuple[str, ...]  # which make the text

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.parts)


def lines(answer: URLAnswer) -> Iterator[URLLine]:
    """Yield the facts that are known."""
    for name, *parts in _facts(answer):
        yield URLLine(name, tuple(parts))


def _facts(answer: URLAnswer) -> Iterator[tuple[str, ...]]:
    """Yield the name of each fact that is known, and the parts of its text."""
    yield "state", _state(answer)
    if answer.because is not None:
        yield "because", answer.because
    if answer.known_as is not None:
        by = f" (merged by {answer.merged_by})" if answer.merged_by else ""
        yield "known as", LinkedURL(answer.known_as), by
    yield from _found(answer)
    yield from _page(answer)
    for step in answer.redirects:
        end = "" if step.answer is None else f" with status {step.answer}"
        reason = "" if step.reason is None else f" ({step.reason})"
        to = f"{step.status} to ", LinkedURL(step.to), f", which is {step.state}{end}{reason}"
        yield "redirect", *to
    if answer.same_as is not None:
        way = f", by way of {', '.join(answer.by_way_of)}" if answer.by_way_of else ""
        yield "same as", LinkedURL(answer.same_as), way
    for url in answer.gone[:_MEMBERS]:
        yield "gone", LinkedURL(url), ", another name of its page"
    if len(answer.gone) > _MEMBERS:
        yield "", f"… and {counted(len(answer.gone) - _MEMBERS, 'name')} more"
    yield from _resource(answer)
    yield from _limits(answer)
    yield from _tries(answer)
    for remedy in answer.remedies:
        yield "to change", remedy


def _state(answer: URLAnswer) -> str:
    at = f", {moment(answer.settled_at)}" if answer.settled_at else ""
    if answer.state == "held" and answer.reason == "learned":
        return f"held for a learned rule{at}"
    reason = "" if answer.reason is None else f" ({answer.reason})"
    if answer.state == "never-seen":
        return "never seen"
    return f"{answer.state}{reason}{at}"


def _found(answer: URLAnswer) -> Iterator[tuple[str, ...]]:
    finding = answer.found
    if finding is None:
        return
    links = counted(finding.depth, "link")
    hops = f" and {counted(finding.hops, 'redirect')}" if finding.hops else ""
    where = f", {moment(finding.at)}, {links}{hops} from a seed"
    if not finding.on and finding.depth:
        yield "found", f"on a page that the store does not have{where}"
    elif not finding.on:
        yield "found", f"as a seed, or in a list, {moment(finding.at)}"
    else:
        yield "found on", LinkedURL(finding.on[0]), where
    for url in finding.on[1 : 1 + _WAY]:
        yield "", "which was found on ", LinkedURL(url)
    if len(finding.on) > 1 + _WAY:
        more = len(finding.on) - 2 - _WAY
        yield "", f"… {more:,} more …" if more else "…"
        yield "", "which was found on ", LinkedURL(finding.on[-1])
    if finding.raw_url != (answer.known_as or answer.url):
        yield "written", finding.raw_url
    for at, url in enumerate(finding.named_by):
        yield "" if at else "named by", LinkedURL(url)


def _page(answer: URLAnswer) -> Iterator[tuple[str, ...]]:
    page = answer.page
    if page is None:
        return
    size = "body not read" if page.size is None else f"{page.size:,} bytes"
    what = [f"status {page.status}", size, page.content_type or "no type"]
    what += [] if page.links is None else [counted(page.links, "link")]
    what += [f"fetched {moment(page.fetched_at)}"]
    yield "page", ", ".join(what)
    if (revisits := answer.revisits) is not None:
        seen = f"changed at {revisits.changes:,} of {counted(revisits.visits, 'later visit')}"
        every = lasting(revisits.interval)
        yield "recrawl", f"{seen}; asked every {every}, next after {moment(revisits.due)}"
    if page.title:
        yield "title", " ".join(page.title.split())
    if page.canonical is not None and page.canonical != (answer.known_as or answer.url):
        yield "canonical", LinkedURL(page.canonical)


def _resource(answer: URLAnswer) -> Iterator[tuple[str, ...]]:
    """Yield the other URLs of the resource, if this one represents it."""
    resource = answer.resource
    if resource is None or resource.row != answer.row:
        return
    for member in resource.members[:_MEMBERS]:
        status = "" if member.status is None else f" {member.status}"
        yield "also", LinkedURL(member.url), f" ({member.reason}{status})"
    if resource.has_more or len(resource.members) > _MEMBERS:
        yield "", "… and more: canonry export clusters"


def _limits(answer: URLAnswer) -> Iterator[tuple[str, ...]]:
    for rule in answer.rules:
        yield "rule", RuleId(rule.id), f" ({rule.state}): {rule.says}"
        yield "", f"it predicts {rule.predicts}"
    robots = answer.robots
    if robots is not None and robots.line is not None:
        verb = "allows" if robots.allows else "disallows"
        yield "robots", f"line {robots.line} of {robots.url} {verb} it: {robots.text}"
    if robots is not None and robots.unreachable_since is not None:
        since = moment(robots.unreachable_since)
        yield "robots", f"{robots.url} could not be read since {since}"
    if answer.scope is not None and answer.reason == "out-of-scope":
        more = f" and {answer.scope.more_seeds:,} more" if answer.scope.more_seeds else ""
        yield "scope", f"{answer.scope.kind} of {', '.join(answer.scope.seeds)}{more}"
    if answer.scope is not None and answer.scope.pattern is not None:
        yield "exclude", answer.scope.pattern
    for budget in answer.budgets:
        if answer.reason == budget.reason:
            like = "" if budget.common.startswith("hosts of ") else "URLs like "
            spent = f"{budget.count:,} of {budget.limit:,} {like}{budget.common}"
            yield "limit", f"{spent} ({budget.setting})"


def _tries(answer: URLAnswer) -> Iterator[tuple[str, ...]]:
    if answer.attempts:
        yield "attempts", f"{counted(answer.attempts, 'attempt')} failed"
    if answer.state != "queued":
        return
    running = answer.crawl is not None and answer.crawl.state == "running"
    when = "in its turn" if answer.not_before is None else f"not before {moment(answer.not_before)}"
    who = "the crawl that is running" if running else "the next crawl"
    yield "next try", f"by {who}, {when}; queued on its host: {answer.waiting:,}"

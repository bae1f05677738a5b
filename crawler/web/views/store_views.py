"""Views of a store for the live page: hosts, refusals, merges, rules, and one URL."""

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection

from canonry.crawler.inquiry import host_listing, merge_facts, refusal_listing, rule_facts
from canonry.crawler.inquiry.ask import MEMBERS, ask
from canonry.crawler.inquiry.host_listing import HostListing
from canonry.crawler.inquiry.merge_facts import Merges
from canonry.crawler.inquiry.refusal_listing import RefusalAnswer, RefusalPage
from canonry.crawler.inquiry.rule_facts import RuleListing
from canonry.crawler.inquiry.rule_names import STATE_ORDER
from canonry.crawler.inquiry.url_answer import URLAnswer
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.web.panel import Asked, BadQuestionError
from canonry.storage import StoreError
from canonry.storage.reading import known_url
from canonry.storage.steering.releases import Refusal

_EXAMPLES = 10
_LISTED = 50
_MOST_MEMBERS = 1_000
_LARGEST_ROW = 10**12 - 1


def hosts(connection: Connection, asked: Asked) -> HostListing:
    """Return the first hosts; the query has ``sort``, ``match`` and ``show``."""
    return host_listing.hosts_of(
        connection,
        asked.now,
        order=asked.choice("sort", host_listing.ORDERS),
        part=asked.text("match"),
        blocked=asked.choice("show", ("all", "blocked")) == "blocked",
    )


class RefusedView(msgspec.Struct, frozen=True, kw_only=True):
    """All reasons, or one of them."""

    reasons: list[RefusalAnswer]
    one: RefusalPage | None  # the URLs of the reason that the query names


def refused(connection: Connection, asked: Asked) -> RefusedView:
    """Return all reasons; with ``state`` and ``reason``, the newest URLs of that reason."""
    reason = asked.text("reason")
    if not reason:
        return RefusedView(reasons=refusal_listing.refusals_of(connection), one=None)
    wanted = Refusal(asked.choice("state", ("held", "failed")), reason)
    return RefusedView(reasons=[], one=refusal_listing.urls_of(connection, wanted))


def merges(connection: Connection, asked: Asked) -> Merges:
    """Return all rules that merged URLs.

    With the field ``rule``, also return the latest merges of that rule.
    """
    try:
        return merge_facts.merges(connection, asked.text("rule"), _EXAMPLES)
    except LookupError:
        raise BadQuestionError("no such rule has merged anything in this store") from None


def rules(connection: Connection, asked: Asked) -> RuleListing:
    """Return rules: those of a ``state``, or of a ``host``; or one by its ``id``, with evidence.

    ``after`` continues a list where the last answer ended.
    """
    if rule_id := asked.text("id"):
        try:
            rule = rule_store.find(connection, rule_id)
        except StoreError as error:
            raise BadQuestionError(str(error)) from None
        listed = rule_facts.of_host(connection, rule.rewrite.host, _LISTED)
        return replace(listed, chosen=rule_facts.report_on(connection, rule))
    if host := asked.text("host"):
        return rule_facts.of_host(connection, host, _LISTED)
    state = asked.choice("state", STATE_ORDER)
    try:
        return rule_facts.in_state(connection, state, _LISTED, asked.text("after"))
    except LookupError:
        raise BadQuestionError('"after" has to be what "more" was') from None


class NotAsked(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to say before a URL is asked for."""

    asked: None = None
    hint: str = "give a URL: ?url=…, or the row of one in the store: ?row=…"


def why(connection: Connection, asked: Asked) -> URLAnswer | NotAsked:
    """Return all that a store knows of a URL.

    The URL is the field ``url``, or the field ``row`` if it is too long for a request or has a
    hidden password. ``members`` limits how many URLs of its resource are listed.
    """
    url = asked.text("url")
    members = asked.number("members", MEMBERS, _MOST_MEMBERS)
    if not url and asked.text("row"):
        stored_url = known_url.url_of(connection, asked.number("row", 0, _LARGEST_ROW))
        if stored_url is None:
            raise BadQuestionError("the store has no such row")
        url = stored_url
    return ask(connection, url, asked.now, members=members) if url else NotAsked()

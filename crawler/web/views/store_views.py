"""Views of a store for the live page: what was not fetched, and what was made one."""

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection

from canonry.crawler.inquiry import merge_facts, refusal_listing, rule_facts
from canonry.crawler.inquiry.ask import ask
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

_LISTED, _BESIDE = 50, 10  # rules on a page of their own, and beside what merged
_LARGEST_ROW = 10**12 - 1


class NotFetched(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one URL; or all reasons, or one of them."""

    url: URLAnswer | None  # that the query names
    reasons: list[RefusalAnswer]
    one: RefusalPage | None  # the URLs of the reason that the query names


def not_fetched(connection: Connection, asked: Asked) -> NotFetched:
    """Return all reasons; with ``state`` and ``reason``, the newest URLs of that reason.

    With ``url``, or the ``row`` of a URL that is too long for a request or has a hidden password,
    return all that the store knows of it.
    """
    if url := _url_of(connection, asked):
        return NotFetched(url=ask(connection, url, asked.now), reasons=[], one=None)
    if reason := asked.text("reason"):
        wanted = Refusal(asked.choice("state", ("held", "failed")), reason)
        return NotFetched(url=None, reasons=[], one=refusal_listing.urls_of(connection, wanted))
    return NotFetched(url=None, reasons=refusal_listing.refusals_of(connection), one=None)


def _url_of(connection: Connection, asked: Asked) -> str:
    """Return the URL that a query names; "" if it names none."""
    if (url := asked.text("url")) or not asked.text("row"):
        return url
    stored = known_url.url_of(connection, asked.number("row", 0, _LARGEST_ROW))
    if stored is None:
        raise BadQuestionError("the store has no such row")
    return stored


class MadeOne(msgspec.Struct, frozen=True, kw_only=True):
    """The rules that merged URLs; and learned rules, or one of them."""

    merges: Merges | None  # null: the query is about learned rules
    rules: RuleListing | None  # null: the query is about merges


def made_one(connection: Connection, asked: Asked) -> MadeOne:
    """Return the rules that merged URLs, and the learned ones that act.

    With ``state`` or ``host``, return the
    learned rules of it, and with ``id`` one with its evidence.
    """
    if any(map(asked.text, ("state", "host", "id"))):
        return MadeOne(merges=None, rules=_rules(connection, asked))
    active = rule_facts.in_state(connection, STATE_ORDER[0], _BESIDE)
    return MadeOne(merges=merge_facts.merges(connection), rules=active)


def _rules(connection: Connection, asked: Asked) -> RuleListing:
    """Return learned rules: those of a state, or of a host; or one by its id, with evidence."""
    if rule_id := asked.text("id"):
        try:
            rule = rule_store.find(connection, rule_id)
        except StoreError as error:
            raise BadQuestionError(str(error)) from None
        listed = rule_facts.of_host(connection, rule.rewrite.host, _LISTED)
        return replace(listed, chosen=rule_facts.report_on(connection, rule))
    if host := asked.text("host"):
        return rule_facts.of_host(connection, host, _LISTED)
    return rule_facts.in_state(connection, asked.choice("state", STATE_ORDER), _LISTED)

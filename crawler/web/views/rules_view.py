"""Learned rules: those of a state or of a host, and one with its evidence."""

from msgspec.structs import replace
from sqlalchemy import Connection

from canonry.crawler.inquiry import rule_facts
from canonry.crawler.inquiry.rule_facts import RuleListing
from canonry.crawler.inquiry.rule_listing import STATE_ORDER
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.web.panel import Asked, BadQuestionError
from canonry.storage import StoreError

_LISTED = 50
_MOST = 500


def view(connection: Connection, asked: Asked) -> RuleListing:
    """Return rules: those of a ``state``, or of a ``host``; or one by its ``id``, with evidence.

    ``most`` is how many are listed; ``after`` goes on with the list where the last answer ended.
    """
    if rule_id := asked.text("id"):
        try:
            found = rule_store.find(connection, rule_id)
        except StoreError as error:
            raise BadQuestionError(str(error)) from None
        listed = rule_facts.of_host(connection, found.rewrite.host, _LISTED)
        return replace(listed, chosen=rule_facts.report_on(connection, found))
    most = asked.number("most", _LISTED, _MOST)
    if host := asked.text("host"):
        return rule_facts.of_host(connection, host, most)
    state = asked.choice("state", STATE_ORDER)
    try:
        return rule_facts.in_state(connection, state, most, asked.text("after"))
    except LookupError:
        raise BadQuestionError('"after" has to be what "more" was') from None

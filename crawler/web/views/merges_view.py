"""Merges by rule, with the latest examples of one rule, each explained."""

from sqlalchemy import Connection

from canonry.crawler.inquiry import merge_facts
from canonry.crawler.inquiry.merge_facts import Merges
from canonry.crawler.web.panel import Asked, BadQuestionError

_EXAMPLES = 10
_MOST = 50


def view(connection: Connection, asked: Asked) -> Merges:
    """Return all rules that merged something.

    With the field ``rule``, the latest merges of that one, too: as many as ``most`` says.
    """
    most = asked.number("most", _EXAMPLES, _MOST)
    try:
        return merge_facts.merges(connection, asked.text("rule"), most)
    except LookupError:
        raise BadQuestionError("no such rule has merged anything in this store") from None

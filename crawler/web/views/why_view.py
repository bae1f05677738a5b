"""Ask about a URL: all that the store knows of it, as ``canonry why`` answers."""

import msgspec
from sqlalchemy import Connection

from canonry.crawler.inquiry.ask import MEMBERS, ask
from canonry.crawler.inquiry.url_answer import URLAnswer
from canonry.crawler.web.panel import Asked, BadQuestionError
from canonry.storage import known_url

_MOST_MEMBERS = 1_000
_LARGEST_ROW = 10**12 - 1


class NotAsked(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to say before a URL is asked for."""

    asked: None = None
    hint: str = "give a URL: ?url=…, or the row of one in the store: ?row=…"


def view(connection: Connection, asked: Asked) -> URLAnswer | NotAsked:
    """Return all that a store knows of a URL.

    The URL is the field ``url``. One that is too long for a request, or whose password is not
    shown, is asked for by its ``row``. ``members`` is how many URLs of its resource are looked for.
    """
    url = asked.text("url")
    members = asked.number("members", MEMBERS, _MOST_MEMBERS)
    if not url and asked.text("row"):
        found = known_url.url_of(connection, asked.number("row", 0, _LARGEST_ROW))
        if found is None:
            raise BadQuestionError("the store has no such row")
        url = found
    return ask(connection, url, asked.now, members=members) if url else NotAsked()

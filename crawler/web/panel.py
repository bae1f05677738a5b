"""The types of the live page: a panel, and the query of a viewer."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from sqlalchemy import Connection

from canonry.crawler.observe.progress import LiveCrawl

_WHOLE = re.compile(r"[0-9]{1,12}")


class BadQuestionError(ValueError):
    """A viewer's query is not valid; the message says what is allowed."""


class Asked(NamedTuple):
    """The query of a viewer to a panel."""

    fields: Mapping[str, str]  # of the query: untrusted input
    now: float  # seconds since 1970
    crawl: LiveCrawl | None = None  # the crawl of this process; None: there is none

    def text(self, name: str, default: str = "") -> str:
        """Return a field, without white space around it."""
        return self.fields.get(name, default).strip()

    def number(self, name: str, default: int, most: int) -> int:
        """Return a field that is a whole number.

        Args:
            name: of the field.
            default: if it is not given, or empty.
            most: the largest that is allowed.

        Raises:
            BadQuestionError: if it is no number from 0 to ``most``.
        """
        text = self.text(name)
        if not text:
            return default
        if not _WHOLE.fullmatch(text) or int(text) > most:
            raise BadQuestionError(f"{name} has to be a whole number from 0 to {most:,}")
        return int(text)

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        """Return a field that is one of some words; the first of them if it is not given.

        Raises:
            BadQuestionError: if it is another word.
        """
        text = self.text(name) or allowed[0]
        if text not in allowed:
            raise BadQuestionError(f"{name} has to be one of: {', '.join(allowed)}")
        return text


View: TypeAlias = Callable[[Connection, Asked], object]


class Panel(NamedTuple):
    """A panel of the page: one row of `canonry.crawler.web.app.PANELS`.

    Its path is ``/NAME``, its JSON ``/NAME.json``, its template ``templates/NAME.html``.
    """

    name: str  # lower case, with hyphens
    title: str
    says: str  # what it shows, in one sentence
    view: View  # returns a dataclass or msgspec.Struct: the JSON is made from it
    live: bool = False  # True: it is updated while somebody watches
    front: bool = False  # True: it is on the first page, too
    listed: bool = True  # False: the menu leaves it out, since the first page shows it

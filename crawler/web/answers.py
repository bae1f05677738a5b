"""Answers to viewers: a panel's value, JSON and HTML, made once and shared by all viewers."""

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import msgspec

from canonry.canon import redaction
from canonry.crawler.inquiry.url_answer import LinkedURL, RuleId, lines
from canonry.crawler.markup import escaped
from canonry.crawler.observe.progress import LiveCrawl, clock
from canonry.crawler.web.charts import growth_chart
from canonry.crawler.web.panel import Asked, BadQuestionError, Panel
from canonry.crawler.web.shown_text import command, finalized, href, is_web, link, own
from canonry.crawler.web.store_reader import StoreReader
from canonry.crawler.web.views.growth_view import COUNTS
from canonry.storage import StoreError
from canonry.storage.shown import columns_in
from canonry.storage.timestamps import iso

TEMPLATES = Path(__file__).parent / "templates"
_FRESH = 0.9  # seconds for which an answer is reused
_KEPT = 64  # answers


class PanelAnswer(NamedTuple):
    """The current content of a panel."""

    value: object
    html: str


class Answers:
    """Caches the answers of panels, so that viewers share one read of the store a second."""

    def __init__(self, reader: StoreReader, crawl: LiveCrawl | None, **known: object) -> None:
        """Read from a store, and from the crawl of this process if there is one.

        Args:
            reader: of the store.
            crawl: of this process; None if there is none.
            known: further variables for every template.
        """
        self._reader = reader
        self._crawl = crawl
        self._pages = _environment()
        self._known = known
        self._kept: OrderedDict[Any, tuple[float, asyncio.Task[PanelAnswer]]] = OrderedDict()

    async def of(self, panel: Panel, fields: Mapping[str, str]) -> PanelAnswer:
        """Return the answer of a panel to a query.

        Raises:
            BadQuestionError: if the query is wrong.
            StoreError: if the store cannot be read.
        """
        key = (panel.name, tuple(sorted(fields.items())))
        made, task = self._kept.get(key, (0.0, None))
        if task is None or time.monotonic() - made > _FRESH:
            task = asyncio.create_task(self._make(panel, dict(fields)))
            task.add_done_callback(_heard)
            self._kept[key] = (time.monotonic(), task)
            self._kept.move_to_end(key)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        try:
            return await asyncio.shield(task)
        except (BadQuestionError, StoreError):
            self._kept.pop(key, None)
            raise

    async def _make(self, panel: Panel, fields: Mapping[str, str]) -> PanelAnswer:
        asked = Asked(fields, time.time(), self._crawl)
        value = await self._reader.read(lambda connection: panel.view(connection, asked))
        return PanelAnswer(
            value, self.page(f"{panel.name}.html", view=value, asked=asked, panel=panel)
        )

    def page(self, template: str, **given: object) -> str:
        """Render a template."""
        return self._pages.get_template(template).render(self._known, **given)


def _heard(task: asyncio.Task[PanelAnswer]) -> None:
    """Retrieve a task's error, so that asyncio does not log it if the viewer has left."""
    if not task.cancelled():
        task.exception()


def as_json(value: object) -> bytes:
    """Return a value as JSON, without the passwords of the URLs in it."""
    return escaped(msgspec.json.encode(redaction.redact_all(msgspec.to_builtins(value)))) + b"\n"


@cache
def _environment() -> jinja2.Environment:
    """Return the templates with their filters and functions.

    They are compiled here, once in a process, since that takes a tenth of a second for which the
    first viewer would wait.
    """
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=finalized,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "number": _number,
        "moment": _moment,
        "link": link,
        "own": own,
        "duration": clock,
    }
    made.globals |= {
        "command": command,
        "href": href,
        "growth_chart": growth_chart,
        "counts": COUNTS,
        "url_lines": lines,
        "columns_in": columns_in,
    }
    made.tests |= {
        "linked_url": lambda part: isinstance(part, LinkedURL),
        "rule_id": lambda part: isinstance(part, RuleId),
        "url": is_web,
        "figure": re.compile(r"(about )?[\d,.]+%?").fullmatch,
    }
    for name in made.list_templates():
        made.get_template(name)
    return made


def _number(value: float | None, digits: int = 0) -> str:
    """Return a number for people; a dash for none."""
    return "–" if value is None else f"{value:,.{digits}f}"  # noqa: RUF001 - a dash of a table


def _moment(at: float | None) -> str:
    """Return a time for people, in UTC."""
    text = iso(at)
    return "never" if text is None else f"{text[:10]} {text[11:19]}Z"

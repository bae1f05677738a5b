"""The log of a crawl: one JSON object per line, for programs to read."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import UNSET, Struct, UnsetType, json

from canonry.canon import redact, redaction
from canonry.crawler.markup import escaped
from canonry.crawler.settings import SettingsError
from canonry.storage import Admission, Outcome, StoreError
from canonry.storage.records import NOT_A_PAGE


class LogLine(Struct, kw_only=True):
    """A line of the log: an outcome, or a message. What does not apply is left out."""

    time: float  # seconds since 1970
    worker: str  # its name
    event: str  # fetched, unchanged, redirected, held, failed or retry; said: a message
    url: str | UnsetType = UNSET
    depth: int | UnsetType = UNSET  # links from a seed, not counting redirects
    hops: int | UnsetType = UNSET  # redirects in a row that led here
    attempts: int | UnsetType = UNSET  # with this one
    reason: str | UnsetType = UNSET  # why it is held, has failed or is retried
    detail: str | UnsetType = UNSET  # more about the reason
    status: int | UnsetType = UNSET  # HTTP status
    seconds: float | UnsetType = UNSET  # from request to end of body
    bytes: int | UnsetType = UNSET  # of the decoded body
    type: str | UnsetType | None = UNSET  # Content-Type as sent; null: there was none
    redirect: str | UnsetType = UNSET  # where it redirects to
    canonical: str | UnsetType = UNSET  # the page's canonical link
    links: int | UnsetType = UNSET  # found on the page
    new: int | UnsetType = UNSET  # of these, URLs that were not known
    refused: int | UnsetType = UNSET  # links that are invalid, or not followed
    message: str | UnsetType = UNSET  # that people were notified of


class Log:
    """Appends to a file that several workers share. Log rotation may move it away at any time."""

    def __init__(self, path: str, worker: str) -> None:
        """Open a file.

        Args:
            path: the file, created if needed; "-" is standard error.
            worker: the name of this worker.

        Raises:
            SettingsError: if the file cannot be opened.
        """
        self._path = path
        self._worker = worker
        self._file = self._open()

    def _open(self) -> int:
        """Open the file for appending, so that each line is written whole."""
        if self._path == "-":
            return os.dup(2)
        try:
            return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise SettingsError(f"crawl.log={self._path}: {error.strerror}") from None

    def outcome(self, outcome: Outcome, admissions: Sequence[Admission]) -> None:
        """Write the outcome of a visit that the store has recorded."""
        queued, page = outcome.queued, outcome.page or outcome.unread
        line = self._line(_event(outcome))
        line.url = redact(queued.url)
        line.depth, line.hops, line.attempts = queued.depth, queued.hops, queued.attempts + 1
        if outcome.reason is not None:
            line.reason = outcome.reason
        if outcome.detail is not None:
            line.detail = redaction.redact_message(outcome.detail)
        if page is not None:
            line.status, line.seconds = page.status, round(page.elapsed, 4)
            line.bytes, line.type = page.size, page.content_type
        for hop in outcome.leads:
            if hop.kind == "redirect":
                line.redirect, line.status = redact(hop.target.url), hop.status
            else:
                line.canonical = redact(hop.target.url)
        line.new = sum(admission.new for admission in admissions) + outcome.earlier.new
        line.refused = sum(link.reason != NOT_A_PAGE for link in outcome.refused)
        line.links = len(outcome.links) + sum(outcome.known.values()) + outcome.earlier.links
        self._write(line)

    def message(self, message: str) -> None:
        """Write a message that people were notified of."""
        line = self._line("said")
        line.message = redaction.redact_message(message)
        self._write(line)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _line(self, event: str) -> LogLine:
        """Return a line that has only the time, the worker and the event."""
        return LogLine(time=round(time.time(), 3), worker=self._worker, event=event)

    def _write(self, line: LogLine) -> None:
        """Write a line at once, into a new file if log rotation has moved the old one away.

        Raises:
            StoreError: if it cannot be written: nothing would show the gap in the log.
        """
        if self._path != "-" and not Path(self._path).exists():
            os.close(self._file)
            self._file = self._open()
        try:
            os.write(self._file, escaped(json.encode(line)) + b"\n")
        except OSError as error:
            raise StoreError(f"crawl.log={self._path}: {error.strerror}") from error


def _event(outcome: Outcome) -> str:
    """Return what happened to a URL."""
    if outcome.unchanged:
        return "unchanged"
    return "retry" if outcome.retry_at is not None else outcome.state.name.lower()

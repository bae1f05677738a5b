"""The log of a crawl: one JSON object per line, for programs to read."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from canonry.canon import redact, redaction
from canonry.crawler.settings import SettingsError
from canonry.storage import Admission, Outcome, StoreError
from canonry.storage.records import NOT_A_PAGE


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
            raise SettingsError(f"--log {self._path}: {error.strerror}") from None

    def outcome(self, outcome: Outcome, admissions: Sequence[Admission]) -> None:
        """Write the outcome of a visit that the store has recorded."""
        queued, page = outcome.queued, outcome.page or outcome.unread
        record: dict[str, Any] = {
            "event": "retry" if outcome.retry_at is not None else outcome.state.name.lower(),
            "url": redact(queued.url),
            "depth": queued.depth,
            "hops": queued.hops,
            "attempts": queued.attempts + 1,
        }
        if outcome.reason is not None:
            record["reason"] = outcome.reason
        if outcome.detail is not None:
            record["detail"] = redaction.redact_message(outcome.detail)
        if outcome.unchanged:
            record["event"] = "unchanged"
        if page is not None:
            record |= {
                "status": page.status,
                "seconds": round(page.elapsed, 4),
                "bytes": page.size,
                "type": page.content_type,
            }
        for hop in outcome.hops:
            record[hop.kind] = redact(hop.target.url)
            if hop.kind == "redirect":
                record["status"] = hop.status
        new = sum(admission.new for admission in admissions)
        refused = sum(link.reason != NOT_A_PAGE for link in outcome.refused)
        links = len(outcome.links) + sum(outcome.known.values())
        record |= {"links": links, "new": new, "refused": refused}
        self._write(record)

    def message(self, message: str) -> None:
        """Write a message that people were notified of."""
        self._write({"event": "said", "message": redaction.redact_message(message)})

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _write(self, record: dict[str, Any]) -> None:
        """Write a line at once, into a new file if log rotation has moved the old one away.

        Raises:
            StoreError: if it cannot be written: a log with gaps would say nothing of them.
        """
        if self._path != "-" and not Path(self._path).exists():
            os.close(self._file)
            self._file = self._open()
        head = {"time": round(time.time(), 3), "worker": self._worker}
        try:
            os.write(self._file, msgspec.json.encode(head | record) + b"\n")
        except OSError as error:
            raise StoreError(f"--log {self._path}: {error.strerror}") from error

"""The log: what came of every URL, one JSON object a line, for programs to read."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from canonry.canon import redact
from canonry.crawler.settings import SettingsError
from canonry.storage import Admission, Outcome


class Log:
    """Appends to a file; several workers may write to one, and it may be moved away meanwhile."""

    def __init__(self, path: str, worker: str) -> None:
        """Open a file.

        Args:
            path: is made where it is not there; "-" is standard error.
            worker: who writes.

        Raises:
            SettingsError: where it cannot be written.
        """
        self._path = path
        self._worker = worker
        self._file = self._open()

    def _open(self) -> int:
        """Open the file for appending: each line goes into it whole."""
        if self._path == "-":
            return os.dup(2)
        try:
            return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise SettingsError(f"--log {self._path}: {error.strerror}") from None

    def outcome(self, outcome: Outcome, admissions: Sequence[Admission]) -> None:
        """Write the outcome of a visit, once the store has it."""
        queued, page = outcome.queued, outcome.page
        told: dict[str, Any] = {
            "event": "retry" if outcome.retry_at is not None else outcome.state.name.lower(),
            "url": redact(queued.url),
            "depth": queued.depth,
            "hops": queued.hops,
            "attempts": queued.attempts + 1,
        }
        if outcome.reason is not None:
            told["reason"] = outcome.reason
        if outcome.unchanged:
            told["event"] = "unchanged"
        if page is not None:
            told |= {
                "status": page.status,
                "seconds": round(page.elapsed, 4),
                "bytes": page.size,
                "type": page.content_type,
            }
        for hop in outcome.hops:
            told[hop.kind] = redact(hop.target.url)
            if hop.kind == "redirect":
                told["status"] = hop.status
        new = sum(admission.new for admission in admissions)
        told |= {"links": len(outcome.links), "new": new, "refused": len(outcome.refused)}
        self._write(told)

    def said(self, message: str) -> None:
        """Write down a sentence that people were told."""
        self._write({"event": "said", "message": message})

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _write(self, told: dict[str, Any]) -> None:
        """Write a line, in one go; into a new file where a log rotation took the old one away."""
        if self._path != "-" and not Path(self._path).exists():
            os.close(self._file)
            self._file = self._open()
        head = {"time": round(time.time(), 3), "worker": self._worker}
        os.write(self._file, msgspec.json.encode(head | told) + b"\n")

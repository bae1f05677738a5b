"""The life of a worker: give signs of life, and take over from workers that have ended."""

import os
import time

from sqlalchemy import Connection

from canonry.crawler.run.job.lease_owners import has_ended, own_name
from canonry.storage.requests import request_queue

_BEAT = 20.0  # seconds between two signs of life
_SILENT = 120.0  # seconds without one, after which others take a worker's requests
_alive: set[str] = set()  # workers in this process


class WorkerLife:
    """One worker, from its start to its end. The caller's transactions hold the write lock."""

    def __init__(self) -> None:
        """Start a worker under a unique name."""
        self.name = own_name()
        self._beat_at = 0.0
        _alive.add(self.name)

    def beat(self, connection: Connection) -> None:
        """Give a sign of life if one is due."""
        now = time.time()
        if now - self._beat_at > _BEAT:
            request_queue.beat(connection, self.name, now)
            self._beat_at = now

    def reclaim(self, connection: Connection) -> int:
        """Take over from workers that have ended; return how many requests were in flight."""
        self.beat(connection)
        names = [name for name in request_queue.owners(connection) if name not in _alive]
        silent = request_queue.silent(connection, names, time.time() - _SILENT)
        dead = [name for name in names if name in silent or _is_over(name)]
        request_queue.leave(connection, dead)
        return request_queue.reclaim(connection, dead, self.name)

    def leave(self, connection: Connection) -> None:
        """Put the requests in flight back in the queue."""
        request_queue.reclaim(connection, [self.name], self.name)
        request_queue.leave(connection, [self.name])

    def end(self) -> None:
        """Let other workers of this process take over any requests that are left."""
        _alive.discard(self.name)


def _is_over(name: str) -> bool:
    """Return True if a worker of another process on this machine has ended.

    A worker with our process number has ended, too: containers give each process the same one.
    """
    return name.split(":")[1] == str(os.getpid()) or has_ended(name)

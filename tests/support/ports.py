"""Ports for servers that have to be told one before they start."""

import os
import socket
from itertools import count

# Below those that systems give to connections and to servers that want any (Linux: from 32,768,
# elsewhere from 49,152): so nobody gets such a port between the look at it and its use.
_FIRST, _COUNT = 20_000, 10_000
_numbers = count(os.getpid() * 97)  # another process begins elsewhere


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on; another one each time."""
    while True:
        port = _FIRST + next(_numbers) % _COUNT
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port

"""The names of workers: who holds a lease, and whether that process still lives."""

import os
import socket
import uuid


def own_name() -> str:
    """Return a name that says machine and process, and is this run's alone."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


def is_gone(name: str) -> bool:
    """Say whether a worker was a process of this machine that is no more.

    Of workers elsewhere nothing is known: their leases run out.
    """
    machine, _, rest = name.partition(":")
    process = rest.partition(":")[0]
    if machine != socket.gethostname() or not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return int(process) == os.getpid()  # this process is just starting, so it was an earlier one

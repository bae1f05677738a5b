"""Permissions for tests that may run as root, who is asked for none."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION_3 = 0x20080522  # of capget(2): two words of 32 bits for each set
_FILES = 0b1110  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH and CAP_FOWNER


@contextmanager
def as_a_plain_user() -> Iterator[None]:
    """Let the permissions of files hold for this thread, also if it is root's."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    head = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()
    assert libc.capget(head, sets) == 0
    before = sets[0]
    sets[0] = before & ~_FILES
    assert libc.capset(head, sets) == 0
    try:
        yield
    finally:
        sets[0] = before
        assert libc.capset(head, sets) == 0

"""The locks of writers on PostgreSQL: claims run side by side, all other changes one at a time.

There are two locks, both advisory and of the transaction: they are released if the writer crashes
or loses its connection.

1. **The write lock**, taken when a transaction begins. Transactions that claim share it. All others
   take it alone: then no claim is under way.
2. **The exclusive lock**, taken by transactions that share the write lock, after their claims and
   until they commit. So one at a time changes counts, hosts, pages and rules.

Between the two, the rows of claimed keys are locked, once per transaction and in the order of the
keys. No transaction waits for a lock that comes before one it holds, so there is no deadlock.

SQLite admits one writer at a time anyway; there, all of this does nothing.
"""

from sqlalchemy import Connection

SHARED = "canonry_shared"  # execution option: a transaction that claims, while others do
NO_LOCK = "canonry_no_lock"  # execution option: a transaction without the write lock
BUSY_SECONDS = 60.0  # to wait for a lock
IDLE_SECONDS = 50.0  # an idle transaction ends then: before others stop waiting for its locks
_WRITE = int.from_bytes(b"canonry")  # the ids of the advisory locks
_EXCLUSIVE = int.from_bytes(b"can-turn")
_IS_EXCLUSIVE = "canonry_is_exclusive"  # a key of `Connection.info`


def begin(connection: Connection) -> None:
    """Take the write lock of PostgreSQL for a transaction that begins."""
    options = connection.get_execution_options()
    if options.get(NO_LOCK):
        return
    is_shared = bool(options.get(SHARED))
    connection.info[_IS_EXCLUSIVE] = not is_shared
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{BUSY_SECONDS}s'")
    lock = "pg_advisory_xact_lock_shared" if is_shared else "pg_advisory_xact_lock"
    connection.exec_driver_sql(f"SELECT {lock}({_WRITE})")


def is_shared(connection: Connection) -> bool:
    """Return True if other transactions may claim keys, and commit, while this one runs."""
    options = connection.get_execution_options()
    return connection.dialect.name == "postgresql" and bool(options.get(SHARED))


def is_exclusive(connection: Connection) -> bool:
    """Return True if nobody else can change anything but keys and new URLs."""
    return not is_shared(connection) or bool(connection.info.get(_IS_EXCLUSIVE))


def become_exclusive(connection: Connection) -> bool:
    """Wait for the exclusive lock, and keep it until the transaction ends.

    Returns:
        False if the transaction had it already. If True, others may have written until now.
    """
    if is_exclusive(connection):
        return False
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_EXCLUSIVE})")
    connection.info[_IS_EXCLUSIVE] = True
    return True

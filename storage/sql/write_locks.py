"""The locks of writers on PostgreSQL: claims run side by side, all other changes one at a time.

There are two locks, both advisory and of the transaction: they are released if the writer crashes
or loses its connection.

1. **The write lock**, taken when a transaction begins. Transactions that claim share it. All others
   take it alone: then no claim is under way.
2. **The turn**, taken by transactions that share the write lock, after their claims and until they
   commit. So one at a time changes counts, hosts, pages and rules.

Between the two, the rows of claimed keys are locked, once per transaction and in the order of the
keys. No transaction waits for a lock that comes before one it holds, so there is no deadlock.

SQLite admits one writer at a time anyway; there, all of this does nothing.
"""

from sqlalchemy import Connection

BESIDE = "canonry_beside"  # execution option: a transaction that claims, beside others that do
WITHOUT = "canonry_without_write_lock"  # execution option: a transaction without the write lock
BUSY_SECONDS = 60.0  # to wait for a lock
IDLE_SECONDS = 50.0  # an idle transaction ends then: before others stop waiting for its locks
_WRITE = int.from_bytes(b"canonry")  # the ids of the advisory locks
_TURN = int.from_bytes(b"can-turn")
_HAS_TURN = "canonry_has_turn"  # a key of `Connection.info`


def begin(connection: Connection) -> None:
    """Take the write lock of PostgreSQL for a transaction that begins."""
    options = connection.get_execution_options()
    if options.get(WITHOUT):
        return
    is_beside = bool(options.get(BESIDE))
    connection.info[_HAS_TURN] = not is_beside
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{BUSY_SECONDS}s'")
    lock = "pg_advisory_xact_lock_shared" if is_beside else "pg_advisory_xact_lock"
    connection.exec_driver_sql(f"SELECT {lock}({_WRITE})")


def is_beside(connection: Connection) -> bool:
    """Return True if other transactions may claim keys, and commit, while this one runs."""
    options = connection.get_execution_options()
    return connection.dialect.name == "postgresql" and bool(options.get(BESIDE))


def has_turn(connection: Connection) -> bool:
    """Return True if nobody else can change anything but keys and new URLs."""
    return not is_beside(connection) or bool(connection.info.get(_HAS_TURN))


def take_turn(connection: Connection) -> bool:
    """Wait for the turn, and keep it until the transaction ends.

    Returns:
        False if the transaction had it already. If True, others may have written until now.
    """
    if has_turn(connection):
        return False
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_TURN})")
    connection.info[_HAS_TURN] = True
    return True

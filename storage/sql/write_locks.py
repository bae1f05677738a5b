"""The locks of writers on PostgreSQL: who claims goes on beside others, who changes more does not.

There are two locks, both advisory and of the transaction: they are released if the writer crashes
or loses its connection.

1. **The write lock**, taken when a transaction begins. Who claims shares it. Everybody else takes
   it alone: then no claim is under way.
2. **The turn**, taken by who shares the write lock, after the claims and until the commit. So one
   at a time changes counts, hosts, pages and rules.

Between them, the rows of claimed keys lock: in the order of the keys, once in a transaction. Nobody
waits for something earlier in this order than what it has, so nobody waits for ever.

SQLite admits one writer to the file, whatever it does; there, all of this does nothing.
"""

from sqlalchemy import Connection

BESIDE = "canonry_beside"  # execution option: a transaction that claims, beside others that do
WITHOUT = "canonry_without_write_lock"  # execution option: a transaction without the write lock
BUSY_SECONDS = 60.0  # to wait for a lock
IDLE_SECONDS = 50.0  # of a transaction that asks nothing: less, so that nobody waits in vain
_WRITE = int.from_bytes(b"canonry")  # the ids of the advisory locks
_TURN = int.from_bytes(b"can-turn")
_HAS_TURN = "canonry_has_turn"  # in the facts of a connection


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
        False if the transaction had it already: only now is what others wrote seen for certain.
    """
    if has_turn(connection):
        return False
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_TURN})")
    connection.info[_HAS_TURN] = True
    return True

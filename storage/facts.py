"""Facts about a store: its schema, its policy and its id, written when it is created."""

import time
import uuid

from sqlalchemy import Connection, bindparam, delete, insert, inspect, select

from canonry.canon.policies import released, versioned_name
from canonry.storage.sql.bulk import put
from canonry.storage.sql.database_faults import opened
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import VERSION, meta, metadata
from canonry.storage.sql.store_errors import StoreError, StoreURLError

RULES, QUEUE = "rules", "queue"  # names of rows in meta that count changes of these
_FACT = Prepared(select(meta.c.value).where(meta.c.name == bindparam("name")))
_IDENTITY = Prepared(select(meta.c.name, meta.c.value).where(meta.c.name.in_(("policy", "id"))))
COPYING = "copying"  # the name of the row in meta of a store that does not have everything yet
_NAMES = frozenset({"schema", "policy", "fingerprint", "id"})
# The name of a row in meta, while a frontier serves the store: seconds since 1970.
_SERVED_UNTIL = "served until"


def establish(connection: Connection, policy: str, fingerprint: str) -> str:
    """Create the tables in an empty database, or check the store that is there.

    Args:
        connection: in a writing transaction.
        policy: ``name/version`` of the policy that makes the keys.
        fingerprint: of the policy's content.

    Returns:
        The store's id, 32 hex digits.

    Raises:
        StoreError: if the database is no store, or was made by another version or under another
            policy.
    """
    if not inspect(connection).get_table_names():
        metadata.create_all(connection)
        facts = {
            "schema": str(VERSION),
            "policy": policy,
            "fingerprint": fingerprint,
            "id": uuid.uuid4().hex,
        }
        connection.execute(insert(meta), [{"name": n, "value": v} for n, v in facts.items()])
        return facts["id"]
    facts = read_facts(connection)
    check_schema(facts)
    if facts["policy"] != policy:
        raise StoreError(another_policy(facts["policy"], policy))
    if facts["fingerprint"] != fingerprint:
        raise StoreError(
            f"policy {versioned_name(policy)} has changed since the store was made, but not its "
            "version; give it a new version and another --store, or undo the change"
        )
    return facts["id"]


def another_policy(made: str, given: str) -> str:
    """Return the message for a store whose keys were made under another policy.

    Args:
        made: ``name/version`` of that policy.
        given: of the policy that was given.
    """
    name = versioned_name(made)
    is_preset = made.partition("/")[0] in released()
    own = f"--policy {name}" if is_preset else f"the file of policy {name}"
    other = versioned_name(given) if given.partition("/")[0] in released() else "FILE"
    return (
        f"its keys were made under policy {name}, not {versioned_name(given)}; give {own}, or "
        f"another --store, or change its keys: canonry upgrade --policy {other} --store URL"
    )


def check_unchanged(connection: Connection, policy: str, store_id: str) -> None:
    """Refuse to go on with another store, or one whose policy another process has changed.

    Raises:
        StoreError: if its policy or its id has changed since it was opened.
    """
    now = dict(_IDENTITY.run(connection, {}))
    if now.get("policy") != policy:
        was, is_now = versioned_name(policy), versioned_name(str(now.get("policy")))
        raise StoreError(f"its policy was {was} and is {is_now} now; run the command again")
    if now.get("id") != store_id:
        raise StoreError("another store has taken its place; run the command again")


def put_fact(connection: Connection, name: str, value: str) -> None:
    """Write a fact that changes, such as a setting of a frontier."""
    put(connection, meta, [{"name": name, "value": value}])


def fact(connection: Connection, name: str) -> str | None:
    """Return a fact; None if it was never written, or was deleted."""
    found = _FACT.run(connection, {"name": name})
    return found[0][0] if found else None


def generation(connection: Connection, of: str) -> int:
    """Return a number that grows with each change of the active rules, or by people of the queue.

    Args:
        connection: to a store.
        of: `RULES` or `QUEUE`.
    """
    return int(fact(connection, of) or 0)


def advance(connection: Connection, of: str) -> None:
    """Record a change of the rules or the queue, in the transaction that changes them."""
    put_fact(connection, of, str(generation(connection, of) + 1))


def drop_fact(connection: Connection, name: str) -> None:
    """Delete a fact."""
    connection.execute(delete(meta).where(meta.c.name == name))


def put_served(connection: Connection, until: float | None) -> None:
    """Write until when a frontier certainly serves the store, in seconds since 1970; None: not."""
    if until is None:
        drop_fact(connection, _SERVED_UNTIL)
    else:
        put_fact(connection, _SERVED_UNTIL, str(until))


def check_unserved(connection: Connection) -> None:
    """Refuse a store that a frontier serves: what engines put meanwhile would be lost.

    Raises:
        StoreError: a frontier serves it.
    """
    until = fact(connection, _SERVED_UNTIL)
    if until is not None and float(until) > time.time():
        raise StoreError(
            "a frontier serves it, or was killed less than a minute ago; stop it, and run the "
            "command again"
        )


def recorded_policy(url: str) -> str | None:
    """Return ``name/version`` of a store's policy; None if there is no store that can be read.

    Raises:
        StoreURLError: for a text that names no store.
    """
    try:
        with opened(url) as engine, engine.begin() as connection:
            return read_facts(connection)["policy"]
    except StoreURLError:
        raise
    except StoreError:
        return None


def check_schema(facts: dict[str, str]) -> None:
    """Refuse a store of another schema, and say what to do.

    Raises:
        StoreError: if its schema is not the current one.
    """
    if not facts["schema"].isdecimal():
        raise StoreError("its table 'meta' is damaged: the schema is no number; restore a copy")
    if int(facts["schema"]) != VERSION:
        raise StoreError(
            f"it has schema {facts['schema']}, and this program reads schema {VERSION}; "
            "use the program that made it, or another --store"
        )


def read_facts(connection: Connection) -> dict[str, str]:
    """Return the facts by name. All versions read them, so this table never changes.

    Raises:
        StoreError: if the database is not a store.
    """
    tables = inspect(connection).get_table_names()
    if not tables:
        raise StoreError("it is empty; 'canonry crawl' fills it")
    if "meta" not in tables:
        raise StoreError("the database has tables, but none of Canonry's; use another database")
    facts = {row.name: row.value for row in connection.execute(select(meta.c.name, meta.c.value))}
    if COPYING in facts:
        raise StoreError("a store is being moved here; run the same 'canonry move' again")
    if missing := _NAMES - facts.keys():
        raise StoreError(f"its table 'meta' lacks {min(missing)!r}; it is not one of our stores")
    return facts

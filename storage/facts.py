"""Facts about a store: its schema, its policy and its id, written when it is created."""

import uuid

from sqlalchemy import Connection, insert, inspect, select

from canonry.storage.sql.engine import StoreError
from canonry.storage.sql.schema import VERSION, meta, metadata

_NAMES = frozenset({"schema", "policy", "fingerprint", "id"})


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
        raise StoreError(
            f"its keys were made under policy {facts['policy']}, not {policy}; "
            f"give --policy {facts['policy'].partition('/')[0]}, or another --store"
        )
    if facts["fingerprint"] != fingerprint:
        raise StoreError(
            f"policy {policy} has changed since the store was made, but not its version; "
            "give it a new version and another --store, or undo the change"
        )
    return facts["id"]


def check_schema(facts: dict[str, str]) -> None:
    """Refuse a store of another schema, and say what to do.

    Raises:
        StoreError: if its schema is not the current one.
    """
    schema = schema_of(facts)
    if schema < VERSION:
        raise StoreError(
            f"it has schema {schema}, and this program reads schema {VERSION}; "
            "upgrade it: canonry upgrade --store URL"
        )
    if schema > VERSION:
        raise StoreError(
            f"it has schema {schema}, and this program reads schema {VERSION}; "
            "use the program that made it, or another --store"
        )


def schema_of(facts: dict[str, str]) -> int:
    """Return the number of a store's schema.

    Raises:
        StoreError: if it is no number.
    """
    if not facts["schema"].isdecimal():
        raise StoreError("its table 'meta' is damaged: the schema is no number; restore a copy")
    return int(facts["schema"])


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
    if missing := _NAMES - facts.keys():
        raise StoreError(f"its table 'meta' lacks {min(missing)!r}; it is not one of our stores")
    return facts

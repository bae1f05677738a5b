"""Migrations: upgrades of a store from an earlier schema to the current one, a file for each step.

Each step states its own tables and values. It knows nothing of the current schema, so a change of
the schema cannot change a step that was written before.
"""

from canonry.storage.migrations.upgrades import upgrade

__all__ = ["upgrade"]

"""From schema 8 to 9: what holds back a rule that has evidence enough."""

from alembic.operations import Operations
from sqlalchemy import Column, Connection, Text


def upgrade(_connection: Connection, operations: Operations) -> None:
    """Add a column, which is empty until the rule is decided on again."""
    said = "why a rule with evidence enough does not act; null: not known"
    operations.add_column("rules", Column("held_back", Text, comment=said))

"""From schema 9 to 10: which of its registrable domain's hosts a host is."""

from alembic.operations import Operations
from sqlalchemy import Column, Connection, Integer, text


def upgrade(_connection: Connection, operations: Operations) -> None:
    """Add a column; hosts that are known already count as the first of their domains."""
    said = "how many hosts of its registrable domain were found before it"
    rank = Column("rank", Integer, nullable=False, server_default=text("0"), comment=said)
    operations.add_column("hosts", rank)

"""From schema 4 to 5: a sketch of what each page says."""

from alembic.operations import Operations
from sqlalchemy import Column, Connection, LargeBinary


def upgrade(_connection: Connection, operations: Operations) -> None:
    """Add the column; pages have no sketch before they are fetched again."""
    operations.add_column(
        "pages", Column("sketch", LargeBinary, comment="what its text says; null: none was made")
    )

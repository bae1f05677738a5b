"""The tables for requests of other crawlers, apart from the store's own; created on demand."""

from enum import IntEnum

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
)

from canonry.storage.sql.tables.table_parts import RowId, Words, partial_index


class RequestState(IntEnum):
    """Where a request stands; the value is what the table holds."""

    READY = 0
    LEASED = 1  # a worker has it: it is in flight
    DONE = 2  # its response was processed; what came of it is not recorded yet
    PARKED = 3  # a learned rule holds its URL
    STARTED = 4  # a start request that is done; it is kept until the crawl is finished


_metadata = MetaData()
requests = Table(
    "requests",
    _metadata,
    Column("id", RowId, primary_key=True),
    Column("spider", Words, nullable=False, comment="in whose queue it stands"),
    Column("standing", SmallInteger, nullable=False, comment="see RequestState"),
    Column("rank", BigInteger, nullable=False, comment="requests with a smaller one go first"),
    Column("place", BigInteger, nullable=False, comment="order among those of one rank"),
    Column("is_start", SmallInteger, nullable=False, comment="1: the spider starts with it"),
    Column("fingerprint", LargeBinary, nullable=False, comment="of URL, method and body"),
    Column("claim", LargeBinary, unique=True, comment="the fingerprint, if it is claimed"),
    Column("key", LargeBinary, comment="of the identity, if it is a plain GET"),
    Column("url", Words, nullable=False, comment="what is requested"),
    Column("depth", Integer, nullable=False, comment="links from a start request"),
    Column("hops", Integer, nullable=False, comment="redirects in a row that led here"),
    Column("url_id", BigInteger, comment="its id in urls; null: not admitted yet, or no plain GET"),
    Column("body", LargeBinary, comment="the whole request, as the crawler writes it"),
    Column("owner", Text, comment="the worker that has it"),
)
_queue = (requests.c.rank, requests.c.is_start, requests.c.place)
Index("requests_queue", requests.c.spider, requests.c.standing, *_queue)
partial_index(Index("requests_by_url", requests.c.url_id), requests.c.url_id.is_not(None))
_open = requests.c.url_id.is_(None) & requests.c.key.is_not(None) & requests.c.claim.is_not(None)
partial_index(Index("requests_open", requests.c.id), _open)

fingerprints = Table(
    "fingerprints",
    _metadata,
    Column("value", LargeBinary, primary_key=True, comment="of a request that was asked or spared"),
)

request_workers = Table(
    "request_workers",
    _metadata,
    Column("name", Text, primary_key=True, comment="as in requests.owner"),
    Column("seen_at", Float, nullable=False, comment="last sign of life; seconds since 1970"),
)


def tables() -> list[Table]:
    """Return the tables; a table comes after those that it refers to."""
    return _metadata.sorted_tables


def create_tables(connection: Connection) -> None:
    """Create the tables, if they are not there, in a transaction that holds the write lock."""
    _metadata.create_all(connection)

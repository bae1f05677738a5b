"""Tables of other crawlers: of engines that use the frontier, and of Scrapy's requests.

A queue of a frontier is a row of ``hosts``: its name is the key that the engine gives, which is
usually the host.
"""

from enum import IntEnum

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
)

from canonry.storage.sql.tables.table_parts import (
    FOLLOWS,
    SMALLEST,
    RowId,
    Words,
    held_columns,
    metadata,
    partial_index,
)

queues = Table(
    "frontier_queues",
    metadata,
    Column("host_id", RowId, primary_key=True, autoincrement=False, comment="its row in hosts"),
    Column("handed_at", Float, nullable=False, comment="its last URLs; seconds since 1970"),
    Column("blocked_until", Float, nullable=False, comment="no URLs before; seconds since 1970"),
    Column("most", BigInteger, comment="URLs of it that may be completed; null: any number"),
)

schedule = Table(
    "frontier_urls",
    metadata,
    Column("url_id", RowId, primary_key=True, autoincrement=False, info=FOLLOWS),
    Column("metadata", LargeBinary, nullable=False, comment="as the engine gave it: a URLInfo"),
    Column(
        "again_at",
        Integer().with_variant(BigInteger(), "postgresql"),
        comment="fetch it then",
        info=SMALLEST,
    ),
)
partial_index(Index("frontier_again", schedule.c.again_at), schedule.c.again_at.is_not(None))


class RequestState(IntEnum):
    """Where a request stands; the value is what the table holds."""

    QUEUED = 0  # in flight, if a worker holds it
    DONE = 1  # its response was processed; what came of it is not recorded yet
    PARKED = 2  # a learned rule holds its URL
    STARTED = 3  # a start request that is done; it is kept until the crawl is finished


requests = Table(
    "requests",
    metadata,
    Column("id", RowId, primary_key=True),
    Column("spider", Words, nullable=False, comment="in whose queue it stands"),
    Column("status", SmallInteger, nullable=False, comment="see RequestState"),
    Column("rank", BigInteger, nullable=False, comment="requests with a smaller one go first"),
    Column("place", BigInteger, nullable=False, comment="order among those of one rank"),
    Column("is_start", SmallInteger, nullable=False, comment="1: the spider starts with it"),
    Column("fingerprint", LargeBinary, nullable=False, comment="of URL, method and body"),
    Column("claim", LargeBinary, unique=True, comment="the fingerprint, if it is claimed"),
    Column("key", LargeBinary, comment="of the identity, if it is a plain GET"),
    Column("url", Words, nullable=False, comment="what is requested"),
    Column("depth", Integer, nullable=False, comment="links from a start request"),
    Column("hops", Integer, nullable=False, comment="redirects in a row that led here"),
    Column(
        "url_id",
        BigInteger,
        comment="its id in urls; null: not admitted yet, or no plain GET",
        info=FOLLOWS,
    ),
    Column("body", LargeBinary, comment="the whole request, as the crawler writes it"),
    *held_columns(),
)
_queue = (requests.c.rank, requests.c.is_start, requests.c.place)
Index("requests_queue", requests.c.spider, requests.c.status, *_queue)
partial_index(Index("requests_by_url", requests.c.url_id), requests.c.url_id.is_not(None))
_open = requests.c.url_id.is_(None) & requests.c.key.is_not(None) & requests.c.claim.is_not(None)
partial_index(Index("requests_open", requests.c.id), _open)
partial_index(Index("requests_held", requests.c.holder), requests.c.holder.is_not(None))

fingerprints = Table(
    "fingerprints",
    metadata,
    Column(
        "value", LargeBinary, primary_key=True, comment="of a request that was asked or suppressed"
    ),
)

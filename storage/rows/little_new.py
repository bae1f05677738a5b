"""Hosts whose pages bring little new text, as crawls have found them."""

from typing import Annotated

import msgspec
from msgspec.structs import asdict
from sqlalchemy import Connection, delete, func, select

from canonry.storage.shown import Shown
from canonry.storage.sql import bulk
from canonry.storage.sql.tables.figure_tables import little_new

_MOST = 1_000  # hosts; of further ones nothing is kept


def _share(row: "LittleNew") -> str:
    return f"{row.share:.0%}"


def _share_of(row: "LittleNew") -> str:
    return f"{row.pattern_share:.0%}"


class LittleNew(msgspec.Struct, frozen=True):
    """A host whose pages bring little new text; shares are from 0 to 1."""

    host: Annotated[str, Shown("host")]
    share: Annotated[float, Shown("new text", _share)]  # of the text of its latest pages
    pattern: Annotated[str, Shown("mostly of")]  # of most pages that bring little; "": none
    pages: Annotated[int, Shown("pages")]  # of the latest 200 that were looked at
    pattern_share: Annotated[float, Shown("new text", _share_of)]  # of their text that was new


def put(connection: Connection, found: LittleNew, now: float) -> None:
    """Keep what was found of a host; ``now`` is seconds since 1970."""
    number = connection.scalar(select(func.count()).select_from(little_new)) or 0
    if number < _MOST:
        bulk.put(connection, little_new, [{**asdict(found), "at": now}])


def remove(connection: Connection, host: str) -> None:
    """Forget a host, whose pages bring more again."""
    connection.execute(delete(little_new).where(little_new.c.host == host))


def read(connection: Connection, most: int = 20) -> list[LittleNew]:
    """Return the hosts that were found last."""
    columns = [little_new.c[name] for name in LittleNew.__struct_fields__]
    latest = select(*columns).order_by(little_new.c.at.desc(), little_new.c.host).limit(most)
    return [LittleNew(*row) for row in connection.execute(latest)]

"""Rows of URLs: the tails by which the table keeps them, and ids that no two writers share."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection

from canonry.storage.sql import write_locks
from canonry.storage.sql.bulk import next_id
from canonry.storage.sql.schema import url_rows

_SEQUENCE = "url_rows_id_seq"


def tails_of(urls: Sequence[str], hosts: Sequence[str]) -> list[str]:
    """Return what the table keeps of URLs; the view ``urls`` puts them together again.

    Args:
        urls: texts that do not begin with a slash, or with a colon and a slash.
        hosts: for each the name that its host's row has.
    """
    starts = {host: (f"https://{host}", f"http://{host}") for host in set(hosts)}
    return [
        tail
        if (tail := url.removeprefix(https))[:1] == "/"
        else f":{tail}"
        if (tail := url.removeprefix(http))[:1] == "/"
        else url
        for url, (https, http) in zip(urls, map(starts.__getitem__, hosts), strict=True)
    ]


def tail_of(url: str, host: str) -> str:
    """Return what the table keeps of one URL."""
    return tails_of((url,), (host,))[0]


def urls_of(tails: Iterable[str], host: str) -> list[str]:
    """Return the URLs of which the table keeps some tails, all of one host.

    As the view does, in half of its time: that looks the host up for each.
    """
    https, http = f"https://{host}", f"http://{host}"
    return [
        https + tail if tail[:1] == "/" else http + tail[1:] if tail[:2] == ":/" else tail
        for tail in tails
    ]


def take_url_ids(connection: Connection, number: int) -> Sequence[int]:
    """Return ids for new rows of ``url_rows``, in rising order.

    Args:
        connection: in a writing transaction.
        number: how many, at least one.
    """
    if connection.dialect.name != "postgresql":
        first = next_id(connection, url_rows)
        return range(first, first + number)
    if not write_locks.is_beside(connection):
        last = connection.exec_driver_sql(
            f"SELECT setval('{_SEQUENCE}', nextval('{_SEQUENCE}') + {number - 1})"
        ).scalar_one()
        return range(last - number + 1, last + 1)
    many = f"SELECT nextval('{_SEQUENCE}') FROM generate_series(1, {number})"  # noqa: S608 - our names
    return list(connection.exec_driver_sql(many).scalars())


def align(connection: Connection) -> None:
    """Set PostgreSQL's sequence to the largest id; rows may have come from elsewhere.

    A store that an early version has made may lack it.

    Args:
        connection: in a transaction that has the write lock alone.
    """
    if connection.dialect.name != "postgresql":
        return
    known = connection.exec_driver_sql(f"SELECT to_regclass('{_SEQUENCE}')").scalar()
    if known is None:
        connection.exec_driver_sql(f"CREATE SEQUENCE {_SEQUENCE}")
    upcoming = next_id(connection, url_rows)
    connection.exec_driver_sql(f"SELECT setval('{_SEQUENCE}', {upcoming}, false)")

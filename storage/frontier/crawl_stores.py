"""The stores of a frontier: one for each crawl, so that no two crawls share anything.

The first is the store that people name, for crawls without a name. On SQLite, the others are files
in a folder beside it; on PostgreSQL, they are schemas of the same database.
"""

from pathlib import Path
from urllib.parse import quote, unquote

from sqlalchemy import URL, text

from canonry.storage.sql.database_faults import begun
from canonry.storage.sql.engine import in_schema, read_url
from canonry.storage.sql.schema import metadata
from canonry.storage.sql.sqlite_engine import file_of
from canonry.storage.sql.store_errors import StoreError

DEFAULT = "DEFAULT"  # the name of the crawl that has none
_ENDINGS = ("", "-wal", "-shm")  # of the files of a store
_SCHEMA = "crawl_"
_LONGEST = 50  # characters of a name of ours: PostgreSQL cuts off what is much longer


class CrawlNameError(StoreError):
    """No crawl can have that name."""


def store_of(store: str, crawl: str) -> str:
    """Return the URL of a crawl's store.

    Raises:
        CrawlNameError: if the name is too long.
        StoreError: if the store cannot be divided.
    """
    url = read_url(store)
    if crawl == DEFAULT:
        return url.render_as_string(hide_password=False)
    name = quote(crawl, safe="")
    if len(name) > _LONGEST:
        raise CrawlNameError(
            f"crawl {crawl[:_LONGEST]}…: its name is longer than {_LONGEST} characters (others "
            "than letters, digits and _.-~ count three or more)"
        )
    file = file_of(url)
    if file is not None:
        folder = _folder(file)
        folder.mkdir(parents=True, exist_ok=True)
        return URL.create("sqlite", database=str(folder / f"{name}.db")).render_as_string()
    if url.get_backend_name() == "sqlite":
        raise StoreError("a store with options in its URL has one crawl only")
    with begun(store) as connection:
        connection.execute(text(f'CREATE SCHEMA IF NOT EXISTS "{_SCHEMA}{name}"'))
    return in_schema(url, f"{_SCHEMA}{name}").render_as_string(hide_password=False)


def crawls_in(store: str) -> list[str]:
    """Return the names of the crawls that have a store, but for the first, in order."""
    url = read_url(store)
    file = file_of(url)
    if file is not None:
        return sorted(unquote(found.stem) for found in _folder(file).glob("*.db"))
    if url.get_backend_name() == "sqlite":
        return []
    with begun(store) as connection:
        found = connection.scalars(text("SELECT nspname FROM pg_namespace")).all()
    return sorted(unquote(name.removeprefix(_SCHEMA)) for name in found if name.startswith(_SCHEMA))


def remove(store: str, crawl: str) -> None:
    """Remove a crawl's store, which nobody may use."""
    own = store_of(store, crawl)
    file = file_of(read_url(own))
    if file is not None:
        for ending in _ENDINGS:
            Path(f"{file}{ending}").unlink(missing_ok=True)
        return
    with begun(own) as connection:
        if crawl == DEFAULT:
            metadata.drop_all(connection)
        else:
            connection.execute(text(f'DROP SCHEMA "{_SCHEMA}{quote(crawl, safe="")}" CASCADE'))


def _folder(file: Path) -> Path:
    return file.with_name(f"{file.name}.crawls")

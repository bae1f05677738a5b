"""Change the policy of a store: a copy is made beside it, under the new keys, and takes its place.

Until then the store itself stays as it is, and nobody else can write to it. If the process is
killed, the next one goes on with the copy.
"""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from canonry.storage.copying import publishing
from canonry.storage.copying.copying import copy
from canonry.storage.copying.forecasts import Forecast, foresee
from canonry.storage.copying.row_rewriting import NewPolicy, Rewriting
from canonry.storage.facts import read_facts
from canonry.storage.sql.database_faults import explaining, naming, opened
from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.store_errors import StoreError


class Changed(NamedTuple):
    """What a change did."""

    urls: int  # before
    merged: int  # URLs that became one with another
    split: int  # targets that became URLs of their own
    continued: bool  # it went on from an earlier try


def change(
    url: str, plan: NewPolicy, notify: Callable[[str], None], advance: Callable[[int, int], None]
) -> Changed:
    """Change the policy of a store, whole or not at all.

    Args:
        url: a SQLAlchemy URL.
        plan: the policies, and the crawler's part.
        notify: receives sentences for people.
        advance: called with numbers of rows: done since the last call, and in all.

    Raises:
        StoreError: if a crawl uses the store, or the database fails.
    """
    engine = open_engine(url, create=False)
    try:
        with (
            explaining(engine, "nothing is lost: the same command goes on from here"),
            naming(engine),
            engine.connect() as connection,
        ):
            with connection.begin():
                plan.check(connection)
                notify(publishing.room(connection))
                rewriting = Rewriting(connection, plan)
                new = publishing.place_beside(connection)
                try:
                    copied = copy(connection, new, advance, notify, rewriting)
                finally:
                    new.dispose()
                publishing.publish(connection)
                version = publishing.file_version(connection)
            publishing.publish_file(connection, version)
        return Changed(*rewriting.changed, continued=copied.before > 0)
    finally:
        engine.dispose()


def forecast(
    url: str, plan: NewPolicy, advance: Callable[[int, int], None], examples: int = 10
) -> Forecast:
    """Count what a change would do, without writing to the store; a crawl may use it meanwhile.

    The keys go to a temporary file.

    Args:
        url: a SQLAlchemy URL.
        plan: the policies, and the crawler's part.
        advance: as for `change`.
        examples: how many to return of each kind.

    Raises:
        StoreError: if there is no store, or the database fails.
    """
    with ExitStack() as stack:
        engine = stack.enter_context(opened(url))
        folder = stack.enter_context(TemporaryDirectory(prefix="canonry-"))
        work = open_engine(f"sqlite:///{Path(folder) / 'keys.db'}")
        stack.callback(work.dispose)
        with engine.begin() as source, work.begin() as keys:
            with naming(engine):
                if read_facts(source)["policy"] == plan.new.policy.label:
                    raise StoreError(f"its policy is {plan.new.policy.versioned_name} already")
            return foresee(source, keys, plan, advance, examples)

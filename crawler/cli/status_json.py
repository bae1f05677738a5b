"""What the commands about a store, a crawl and its queue print as JSON."""

import msgspec

from canonry import __version__
from canonry.canon.pipeline import is_compiled
from canonry.storage.reading.report import StoreStatus


class ProgramJSON(msgspec.Struct, frozen=True, kw_only=True):
    """The program that prints this."""

    version: str
    compiled: bool  # False: the kernel is not compiled, and the same answers take longer


def program() -> ProgramJSON:
    """Return what this program is."""
    return ProgramJSON(version=__version__, compiled=is_compiled())


class StatusJSON(StoreStatus):
    """What a store holds."""

    program: ProgramJSON
    unread: dict[str, int]  # pages whose body was not read, by reason


def told(store_status: StoreStatus) -> StatusJSON:
    """Return what a store holds as it is told to people and programs."""
    from canonry.crawler.run import bodies  # noqa: PLC0415 - loads what fetches

    return {**store_status, "program": program(), "unread": bodies.unread_in(store_status)}

"""The messages of the URLFrontier API, from the binary form of ``urlfrontier.proto``.

No generated code: that would demand one version of protobuf.
"""

from pathlib import Path
from typing import Any, TypeAlias

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

Message: TypeAlias = Any  # of one of the classes below, which are made at run time

_FILE = Path(__file__).with_name("urlfrontier.binpb")
_PACKAGE = "urlfrontier"
_pool = descriptor_pool.DescriptorPool()
_pool.Add(descriptor_pb2.FileDescriptorSet.FromString(_FILE.read_bytes()).file[0])
SERVICE = _pool.FindServiceByName(f"{_PACKAGE}.URLFrontier")


def _class(name: str) -> Any:  # noqa: ANN401 - see `Message`
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


AckMessage = _class("AckMessage")
BatchAck = _class("BatchAck")
Boolean = _class("Boolean")
DiscoveredBatch = _class("DiscoveredBatch")
Empty = _class("Empty")
Long = _class("Long")
QueueList = _class("QueueList")
Stats = _class("Stats")
StringList = _class("StringList")
URLInfo = _class("URLInfo")
URLItem = _class("URLItem")

OK, SKIPPED, FAIL = (AckMessage.Status.Value(name) for name in ("OK", "SKIPPED", "FAIL"))

__all__ = [
    "FAIL",
    "OK",
    "SERVICE",
    "SKIPPED",
    "AckMessage",
    "BatchAck",
    "Boolean",
    "DecodeError",
    "DiscoveredBatch",
    "Empty",
    "Long",
    "Message",
    "QueueList",
    "Stats",
    "StringList",
    "URLInfo",
    "URLItem",
    "class_of",
    "take_metadata",
    "with_metadata",
]


def class_of(descriptor: Any) -> Any:  # noqa: ANN401 - see `Message`
    """Return the class of the messages that a method of the service takes, or returns."""
    return message_factory.GetMessageClass(descriptor)


def take_metadata(info: Message) -> bytes:
    """Return the metadata of a ``URLInfo`` as bytes; the message has nothing else afterwards."""
    for name in ("url", "key", "crawlID"):
        info.ClearField(name)
    kept: bytes = info.SerializeToString()
    return kept


def with_metadata(kept: bytes, url: str, queue: str, crawl: str) -> Message:
    """Return a ``URLInfo`` with metadata that `take_metadata` returned."""
    info = URLInfo.FromString(kept)
    info.url, info.key, info.crawlID = url, queue, crawl
    return info

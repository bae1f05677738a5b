"""The methods of the URLFrontier API, on the crawls of a server."""

import logging
import time
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import NamedTuple

import grpc

from canonry.canon import redact
from canonry.crawler.frontier import messages
from canonry.crawler.frontier.calls import Context, pipelined
from canonry.crawler.frontier.crawl_frontier import UnknownQueueError
from canonry.crawler.frontier.crawls import Crawls, NotWrittenError
from canonry.crawler.frontier.messages import FAIL, OK, SKIPPED, Message
from canonry.crawler.frontier.reports import Item
from canonry.storage import State
from canonry.storage.frontier.crawl_stores import DEFAULT
from canonry.storage.frontier.queues import FrontierURL
from canonry.storage.frontier.scheduling import Wish

_LOG = logging.getLogger("canonry.frontier")
_SECONDS_OUT = 30  # that URLs are out, if the client does not say
_MOST_QUEUES = 10_000  # of one call
_MOST_OF_QUEUE = 10_000  # URLs of one call
_PAGE = 100  # results, if the client does not say how many
_URLS_WAITING, _BATCHES_WAITING = 10_000, 100  # messages of a stream that are not acknowledged
_TOGETHER = 1_000  # URLs of a stream that are certain to be in one transaction
_MOST_METADATA = 64 << 10  # bytes that are kept with a URL
_SHOWN = 200  # characters of a URL in the log
_LISTED_AT_ONCE = 1_000
_NEVER = (1 << 63) - 1  # the last second that databases can hold
_LEVELS = {"TRACE": 5, "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40}


class _Put(NamedTuple):
    """A URL on its way into a crawl."""

    crawl: str
    item: Item


class _Accepted(NamedTuple):
    """A message of a stream that waits to be written."""

    number: str
    items: list[_Put]


class Service:
    """One method for each of the API, under its name there."""

    def __init__(self, crawls: Crawls, names: frozenset[str], address: str) -> None:
        """Bind the crawls.

        Args:
            crawls: of this server.
            names: of the metadata that say something.
            address: of this server, for lists of nodes.
        """
        self._crawls = crawls
        self._names = names
        self._address = address

    async def GetURLs(self, request: Message, context: Context) -> AsyncIterator[Message]:  # noqa: N802, ARG002
        """Stream due URLs."""
        of_one = request.WhichOneof("item") == "crawlID"
        wish = Wish(
            request.max_urls_per_queue or _MOST_OF_QUEUE,
            min(request.max_queues or _MOST_QUEUES, _MOST_QUEUES),
            request.delay_requestable or _SECONDS_OUT,
            request.key or None,
        )
        if not await self._is_active():
            return
        names = [request.crawlID or DEFAULT] if of_one else await self._crawls.in_turn()
        for name in names:
            crawl = await self._crawls.find(name)
            if crawl is None:
                return
            found = await crawl.call(crawl.frontier.get, wish, time.time())
            for one in found:
                yield messages.with_metadata(one.metadata, one.url, one.queue, name)
            left = wish.queues - len({one.queue for one in found})
            if left <= 0:
                return
            wish = wish._replace(queues=left)

    async def PutURLs(  # noqa: N802
        self, requests: AsyncIterator[bytes], context: Context
    ) -> None:
        """Write what a client streams, and acknowledge each URL when it is committed."""

        async def accept(raw: bytes) -> _Accepted:
            message = messages.URLItem.FromString(raw)
            one = self._item(message)
            await self._crawls.of(one.crawl)
            return _Accepted(message.ID or one.item.url, [one])

        async def answer(some: Sequence[_Accepted]) -> list[Message]:
            statuses = await self._put(some)
            pairs = zip(some, statuses, strict=True)
            return [messages.AckMessage(ID=one.number, status=status) for one, [status] in pairs]

        await pipelined(requests, accept, answer, context, _URLS_WAITING)

    async def PutDiscovered(  # noqa: N802
        self, requests: AsyncIterator[bytes], context: Context
    ) -> None:
        """Write batches of new URLs, and acknowledge each batch when it is committed."""

        async def accept(raw: bytes) -> _Accepted:
            try:
                batch = messages.DiscoveredBatch.FromString(raw)
            except messages.DecodeError:  # then clients send URLs one by one
                await context.abort(
                    grpc.StatusCode.UNIMPLEMENTED, "this form of a batch is not known here"
                )
            items = [_Put(info.crawlID, self._item_of(info)) for info in batch.items]
            for name in {one.crawl for one in items}:
                await self._crawls.of(name)
            return _Accepted(batch.ID, items)

        async def answer(some: Sequence[_Accepted]) -> list[Message]:
            pairs = zip(some, await self._put(some), strict=True)
            return [messages.BatchAck(ID=one.number, statuses=found) for one, found in pairs]

        await pipelined(requests, accept, answer, context, _BATCHES_WAITING)

    async def _put(self, some: Sequence[_Accepted]) -> list[list[int]]:
        """Put the items of some messages; return for each message the statuses of its items.

        Those of a failed transaction are to be sent again.
        """
        by_crawl: dict[str, list[Item]] = {}
        for message in some:
            for one in message.items:
                by_crawl.setdefault(one.crawl, []).append(one.item)
        answers = []
        for name, items in by_crawl.items():
            crawl = await self._crawls.of(name)
            for start in range(0, len(items), _TOGETHER):
                group = items[start : start + _TOGETHER]
                answers.append((name, len(group), crawl.put(group)))
        statuses: dict[str, list[int]] = {name: [] for name in by_crawl}
        for name, number, answered in answers:
            try:
                statuses[name] += [OK if answer else SKIPPED for answer in await answered]
            except NotWrittenError:
                statuses[name] += [FAIL] * number
        left = {name: iter(found) for name, found in statuses.items()}
        return [[next(left[one.crawl]) for one in message.items] for message in some]

    def _item(self, message: Message) -> _Put:
        """Return a URL as it was put; the message is used up."""
        if message.WhichOneof("item") == "known":
            name = message.known.info.crawlID
            again_at = min(message.known.refetchable_from_date, _NEVER)
            item = self._item_of(message.known.info)
            return _Put(name, item._replace(is_known=True, again_at=again_at))
        name = message.discovered.info.crawlID
        return _Put(name, self._item_of(message.discovered.info))

    def _item_of(self, info: Message) -> Item:
        """Return an item; the message is used up."""
        url, queue, notes = info.url, info.key, {}
        if info.metadata:
            notes = {
                name: values.values[0]
                for name, values in info.metadata.items()
                if name in self._names and values.values
            }
        metadata = messages.take_metadata(info)
        if len(metadata) > _MOST_METADATA:
            shown, size = redact(url)[:_SHOWN], len(metadata)
            _LOG.warning(
                "%s: %d bytes of metadata are left out; %d may be", shown, size, _MOST_METADATA
            )
            metadata = b""
        return Item(url, queue, metadata, notes=notes)

    async def SetDelay(self, request: Message, context: Context) -> Message:  # noqa: N802, ARG002
        """Set the pause of a queue, or of all that have none of their own."""
        crawl = await self._crawls.of(request.crawlID)
        seconds = float(request.delay_requestable)
        await crawl.call(crawl.frontier.set_delay, request.key, seconds, time.time())
        return messages.Empty()

    async def BlockQueueUntil(self, request: Message, context: Context) -> Message:  # noqa: N802, ARG002
        """Block a queue until a time, or end its block."""
        crawl = await self._crawls.of(request.crawlID)
        await crawl.call(crawl.frontier.block, request.key, float(request.time), time.time())
        return messages.Empty()

    async def SetCrawlLimit(self, request: Message, context: Context) -> Message:  # noqa: N802, ARG002
        """Limit how many URLs of a queue are fetched."""
        if (crawl := await self._crawls.find(request.crawlID)) is None:
            raise UnknownQueueError(f"there is no crawl {request.crawlID!r}")
        await crawl.call(crawl.frontier.set_limit, request.key, request.limit)
        return messages.Empty()

    async def SetActive(self, request: Message, context: Context) -> Message:  # noqa: N802, ARG002
        """Hand out URLs of all crawls, or of none."""
        first = await self._crawls.of(DEFAULT)
        await first.call(partial(first.frontier.set_active, active=request.state))
        return messages.Empty()

    async def GetActive(self, request: Message, context: Context) -> Message:  # noqa: N802, ARG002
        """Return whether URLs are handed out."""
        return messages.Boolean(state=await self._is_active())

    async def _is_active(self) -> bool:
        first = await self._crawls.of(DEFAULT)
        return await first.call(first.frontier.is_active)

    async def GetStats(self, request: Message, context: Context) -> Message:  # noqa: N802, ARG002
        """Return the numbers of a queue, or of a crawl."""
        name = request.crawlID or DEFAULT
        if (crawl := await self._crawls.find(name)) is None:
            return messages.Stats(crawlID=name)
        found = await crawl.call(crawl.frontier.figures, request.key, time.time())
        return messages.Stats(
            size=found.waiting,
            inProcess=found.out,
            counts={"completed": found.completed, "active_queues": found.active_queues},
            numberOfQueues=found.queues,
            crawlID=name,
        )

    async def ListQueues(self, request: Message, context: Context) -> Message:  # noqa: N802, ARG002
        """Return names of queues."""
        name = request.crawlID or DEFAULT
        if (crawl := await self._crawls.find(name)) is None:
            return messages.QueueList(crawlID=name)
        size = request.size or _PAGE
        found, total = await crawl.call(
            partial(crawl.frontier.names, inactive=request.include_inactive),
            *(request.start, size, time.time()),
        )
        return messages.QueueList(
            values=found, total=total, start=request.start, size=len(found), crawlID=name
        )

    async def ListCrawls(self, request: Message, context: Context) -> Message:  # noqa: N802, ARG002
        """Return the names of the crawls; the one without a name is listed if it has queues."""
        first = await self._crawls.of(DEFAULT)
        all_queues = partial(first.frontier.names, 0, 1, time.time(), inactive=True)
        found, _total = await first.call(all_queues)
        names = await self._crawls.names()
        return messages.StringList(values=names if found else names[1:])

    async def ListNodes(self, request: Message, context: Context) -> Message:  # noqa: N802, ARG002
        """Return this node: clients divide queues between servers, which do not know each other."""
        return messages.StringList(values=[self._address])

    async def GetURLStatus(self, request: Message, context: Context) -> Message:  # noqa: N802
        """Return what is known of a URL, in whatever spelling."""
        name = request.crawlID or DEFAULT
        crawl = await self._crawls.find(name)
        found = None if crawl is None else await crawl.call(crawl.frontier.known, request.url)
        if found is not None and request.key in {"", found.queue}:
            return _as_item(found, name)
        return await context.abort(grpc.StatusCode.NOT_FOUND, "the frontier has no such URL")

    async def ListURLs(self, request: Message, context: Context) -> AsyncIterator[Message]:  # noqa: N802, ARG002
        """Stream what is known of some URLs."""
        name = request.crawlID or DEFAULT
        left, start, after = request.size or _PAGE, request.start, 0
        while left and (crawl := await self._crawls.find(name)) is not None:
            most = min(left, _LISTED_AT_ONCE)
            found = await crawl.call(
                partial(crawl.frontier.listed, ignore_case=request.ignoreCase, after=after),
                *(request.key, request.filter, start, most),
            )
            for one in found:
                yield _as_item(one, name)
            if len(found) < most:
                return
            left, start, after = left - most, 0, found[-1].url_id

    async def CountURLs(self, request: Message, context: Context) -> Message:  # noqa: N802, ARG002
        """Return how many URLs there are."""
        if (crawl := await self._crawls.find(request.crawlID)) is None:
            return messages.Long()
        count = partial(crawl.frontier.count, ignore_case=request.ignoreCase)
        return messages.Long(value=await crawl.call(count, request.key, request.filter))

    async def DeleteQueue(self, request: Message, context: Context) -> Message:  # noqa: N802, ARG002
        """Delete a queue."""
        if (crawl := await self._crawls.find(request.crawlID)) is None:
            return messages.Long()
        return messages.Long(value=await crawl.call(crawl.frontier.delete_queue, request.key))

    async def DeleteCrawl(self, request: Message, context: Context) -> Message:  # noqa: N802, ARG002
        """Delete a crawl with its store."""
        name = request.value or DEFAULT
        if (crawl := await self._crawls.find(name)) is None:
            return messages.Long()
        number = await crawl.call(partial(crawl.frontier.count, "", "", ignore_case=False))
        await self._crawls.delete(name)
        return messages.Long(value=number)

    async def PurgeURLs(self, request: Message, context: Context) -> Message:  # noqa: N802, ARG002
        """Delete old URLs."""
        if (crawl := await self._crawls.find(request.crawlID)) is None:
            return messages.Long()
        number = await crawl.call(crawl.frontier.purge, request.key, request.days, time.time())
        return messages.Long(value=number)

    async def SetLogLevel(self, request: Message, context: Context) -> Message:  # noqa: N802, ARG002
        """Set the level of a logger."""
        level = request.DESCRIPTOR.enum_types_by_name["Level"].values_by_number[request.level].name
        logging.getLogger(request.package or "canonry").setLevel(_LEVELS[level])
        return messages.Empty()


def _as_item(known: FrontierURL, crawl: str) -> Message:
    """Return what is known of a URL, as a message."""
    again_at = known.again_at or 0
    if known.state is State.QUEUED:
        again_at = int(max(known.due, known.found_at))
    item = messages.URLItem(creation_date=int(known.found_at))
    item.known.info.CopyFrom(messages.with_metadata(known.metadata, known.url, known.queue, crawl))
    item.known.refetchable_from_date = again_at
    return item

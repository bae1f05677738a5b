"""Calls of the API: the handlers of its methods, errors as statuses, and streams in both ways."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar

import grpc

from canonry.crawler.frontier import messages
from canonry.crawler.frontier.crawl_frontier import UnknownQueueError
from canonry.crawler.frontier.messages import DecodeError, Message
from canonry.storage import StoreError
from canonry.storage.frontier.crawl_stores import CrawlNameError

_MOST_WAITING = 16 << 20  # bytes of a stream that are not acknowledged
_AT_ONCE = 1_000  # messages of a stream that are answered together
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_Handler: TypeAlias = Callable[..., Any]
_Decode: TypeAlias = Callable[[bytes], Message]
_T = TypeVar("_T")


def handlers(service: object) -> grpc.GenericRpcHandler:
    """Return the handlers of all methods, for a server."""
    by_name = {}
    for name, method in messages.SERVICE.methods_by_name.items():
        takes = messages.class_of(method.input_type)
        returns = messages.class_of(method.output_type)
        make = getattr(
            grpc,
            f"{'stream' if method.client_streaming else 'unary'}_"
            f"{'stream' if method.server_streaming else 'unary'}_rpc_method_handler",
        )
        handler = getattr(service, name)
        if not method.client_streaming:  # else it decodes what it reads
            wrapped = _streaming if method.server_streaming else _answering
            handler = wrapped(handler, takes.FromString)
        by_name[name] = make(handler, None, returns.SerializeToString)
    return grpc.method_handlers_generic_handler(messages.SERVICE.full_name, by_name)


def _answering(handler: _Handler, decode: _Decode) -> _Handler:
    """Return a handler that takes bytes, and whose errors are statuses with a sentence."""

    async def call(raw: bytes, context: Context) -> Message:
        async with _explaining(context):
            return await handler(_checked(decode(raw)), context)

    return call


def _streaming(handler: _Handler, decode: _Decode) -> _Handler:
    """Do the same for a handler that streams."""

    async def call(raw: bytes, context: Context) -> AsyncIterator[Message]:
        async with _explaining(context):
            async for message in handler(_checked(decode(raw)), context):
                yield message

    return call


class _ArgumentError(ValueError):
    """A field of a message has a value that it cannot have."""


def _checked(request: Message) -> Message:
    """Return a request whose names can be those of something in a store."""
    for field, value in request.ListFields():
        if isinstance(value, str) and "\0" in value and field.name != "url":
            raise _ArgumentError(f"{field.name}: {value!r} has a zero character")
    return request


@asynccontextmanager
async def _explaining(context: Context) -> AsyncIterator[None]:
    """Make statuses with a sentence of the errors of a block."""
    try:
        yield
    except UnknownQueueError as error:
        await context.abort(grpc.StatusCode.NOT_FOUND, str(error.args[0]))
    except (CrawlNameError, DecodeError, _ArgumentError) as error:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
    except StoreError as error:
        await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))


async def pipelined(
    requests: AsyncIterator[bytes],
    accept: Callable[[bytes], Awaitable[_T]],
    answer: Callable[[Sequence[_T]], Awaitable[Iterable[Message]]],
    context: Context,
    most: int,
) -> None:
    """Read what a client streams while what came before is written; answer in its order.

    What waits is answered together: for one message, each step would take longer than the work.

    Args:
        requests: of the client.
        accept: checks one.
        answer: writes some, and returns the answers to them.
        context: of the call.
        most: how many requests may wait for their answers; their bytes are limited, too.
    """
    waiting: list[tuple[int, _T]] = []  # with their bytes
    unanswered, is_over = 0, False  # bytes
    arrived, room = asyncio.Event(), asyncio.Event()

    async def read() -> None:
        nonlocal unanswered, is_over
        try:
            async for request in requests:
                while unanswered > _MOST_WAITING or len(waiting) >= most:
                    room.clear()
                    await room.wait()
                waiting.append((len(request), await accept(request)))
                unanswered += len(request)
                arrived.set()
        finally:
            is_over = True
            arrived.set()

    reading = asyncio.create_task(read())
    try:
        while waiting or not is_over:
            if not waiting:
                arrived.clear()
                await arrived.wait()
                continue
            taken = waiting[:_AT_ONCE]
            del waiting[:_AT_ONCE]
            for message in await answer([one for _size, one in taken]):
                await context.write(message)
            unanswered -= sum(size for size, _one in taken)
            room.set()
        async with _explaining(context):
            await reading
    finally:
        reading.cancel()

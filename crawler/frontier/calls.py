"""Calls of the API: the handlers of its methods, errors as statuses, and streams in both ways."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import grpc

from canonry.crawler.frontier import messages
from canonry.crawler.frontier.crawl_frontier import UnknownQueueError
from canonry.crawler.frontier.messages import DecodeError, Message
from canonry.storage import StoreError
from canonry.storage.frontier.crawl_stores import CrawlNameError

_MOST_WAITING = 16 << 20  # bytes of a stream that are not acknowledged
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_Handler: TypeAlias = Callable[..., Any]
_Decode: TypeAlias = Callable[[bytes], Message]
# Waits for an answer. No coroutine: those are to be awaited, and a client may go away before.
Answer: TypeAlias = Callable[[], Awaitable[Message]]


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
    put: Callable[[bytes], Awaitable[Answer]],
    context: Context,
    most: int,
) -> None:
    """Put what a client streams while what came before is written; answer in its order.

    Args:
        requests: of the client.
        put: puts one, and returns what waits for its answer.
        context: of the call.
        most: how many requests may wait for their answers; their bytes are limited, too.
    """
    waiting: asyncio.Queue[tuple[int, Answer] | None] = asyncio.Queue(most)
    unanswered = 0  # bytes
    room = asyncio.Event()

    async def read() -> None:
        nonlocal unanswered
        try:
            async for request in requests:
                while unanswered > _MOST_WAITING:
                    room.clear()
                    await room.wait()
                unanswered += len(request)
                await waiting.put((len(request), await put(request)))
        finally:
            await waiting.put(None)

    reading = asyncio.create_task(read())
    try:
        while (taken := await waiting.get()) is not None:
            size, answer = taken
            await context.write(await answer())
            unanswered -= size
            room.set()
        async with _explaining(context):
            await reading
    finally:
        reading.cancel()

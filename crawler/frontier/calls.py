"""Calls of the API: the handlers of its methods, errors as statuses, and streams in both ways."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

import grpc

from canonry.crawler.frontier import messages
from canonry.crawler.frontier.crawl_frontier import UnknownQueueError
from canonry.crawler.frontier.messages import Message
from canonry.storage import StoreError

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_Handler: TypeAlias = Callable[..., Any]


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
        # Batches are decoded by the method, which knows what to answer if that fails.
        decode = None if name == "PutDiscovered" else takes.FromString
        handler = getattr(service, name)
        if not method.client_streaming:
            handler = (_explaining_stream if method.server_streaming else _explaining)(handler)
        by_name[name] = make(handler, decode, returns.SerializeToString)
    return grpc.method_handlers_generic_handler(messages.SERVICE.full_name, by_name)


def _explaining(handler: _Handler) -> _Handler:
    """Return a handler whose errors are statuses with a sentence."""

    async def call(request: Message, context: Context) -> Message:
        try:
            return await handler(request, context)
        except UnknownQueueError as error:
            await context.abort(grpc.StatusCode.NOT_FOUND, str(error.args[0]))
        except StoreError as error:
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))

    return call


def _explaining_stream(handler: _Handler) -> _Handler:
    """Do the same for a handler that streams."""

    async def call(request: Message, context: Context) -> AsyncIterator[Message]:
        try:
            async for message in handler(request, context):
                yield message
        except StoreError as error:
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))

    return call


async def pipelined(
    requests: AsyncIterator[Any],
    put: Callable[[Any], Awaitable[Awaitable[Message]]],
    context: Context,
    most: int,
) -> None:
    """Put what a client streams while what came before is written; answer in its order.

    Args:
        requests: of the client.
        put: puts one, and returns what will be its answer.
        context: of the call.
        most: how many requests may wait for their answers.
    """
    waiting: asyncio.Queue[Awaitable[Message] | None] = asyncio.Queue(most)

    async def read() -> None:
        try:
            async for request in requests:
                await waiting.put(await put(request))
        finally:
            await waiting.put(None)

    reading = asyncio.create_task(read())
    try:
        while (answer := await waiting.get()) is not None:
            await context.write(await answer)
        await reading
    finally:
        reading.cancel()

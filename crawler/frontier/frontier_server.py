"""The server of the URLFrontier API."""

import asyncio
import logging
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import numpy as np  # noqa: F401 - once it is loaded, small batches take the filter's fast path

from canonry.crawler.files.inputs import ListedSeed
from canonry.crawler.files.line_streams import Cut
from canonry.crawler.frontier.calls import handlers
from canonry.crawler.frontier.crawl_frontier import CrawlFrontier
from canonry.crawler.frontier.crawls import Crawls, OpenCrawl
from canonry.crawler.frontier.reports import Item, names_of
from canonry.crawler.frontier.service import Service
from canonry.crawler.opening import policy_for
from canonry.crawler.plurals import counted
from canonry.crawler.settings import FrontierSettings, SettingsError
from canonry.crawler.tokens import check_token, is_same
from canonry.storage.frontier.crawl_stores import DEFAULT, store_of
from canonry.storage.sql.engine import without_password

_LARGEST = 16 << 20  # bytes of a message
_IDLE = 300_000  # milliseconds: a connection without a call closes, and its client opens another
_SEEDS_AT_ONCE = 5_000
_SWEEP = 15.0  # seconds; after each, a store counts as served for a minute
_MOST_TOLD = 10  # seeds that are no URLs, which are named one by one
_SECONDS_TO_END = 5.0  # for calls in progress


class TLSFiles(NamedTuple):
    """What the server needs for TLS: names of PEM files."""

    certificate: str
    key: str
    authority: str | None  # of clients; None asks them for no certificate


class FrontierPlace(NamedTuple):
    """Where the server listens, and whom it answers."""

    host: str
    port: int  # 0: any that is free
    token: str | None = None  # that each call has to bring; None: no token is needed
    tls: TLSFiles | None = None


def serve(
    store: str,
    place: FrontierPlace,
    policy: str | None,
    settings: FrontierSettings,
    notify: Callable[[str], None],
    *,
    learns: bool,
    seeds: Iterable[ListedSeed | Cut] = (),
) -> None:
    """Serve a store as a frontier until the process is asked to stop.

    Args:
        store: a SQLAlchemy URL, or the path of a file; it is created if there is none.
        place: where.
        policy: as for `canonry.crawler.opening.policy_for`.
        settings: what an engine's metadata mean.
        notify: receives sentences for people.
        learns: True to learn rules.
        seeds: URLs to put before the first client is served.

    Raises:
        SettingsError: if the port cannot be opened, a file of TLS cannot be read, or the token is
            none that `check_token` accepts.
        StoreError: if the store cannot be used.
    """
    check_token(place.token)
    logging.basicConfig(format="canonry: %(message)s")
    crawls = Crawls(store, _opener(store, policy, settings, notify, learns))
    asyncio.run(_serve(store, crawls, place, names_of(settings), seeds, notify))


def _opener(
    store: str,
    policy: str | None,
    settings: FrontierSettings,
    notify: Callable[[str], None],
    learns: bool,  # noqa: FBT001 - as in `serve`
) -> Callable[[str], CrawlFrontier]:
    """Return a function that opens the frontier of a crawl; all have the policy of the first."""

    def opened(crawl: str) -> CrawlFrontier:
        own = store_of(store, crawl)
        own_policy = policy_for(own, policy)
        return CrawlFrontier(own, own_policy, settings, notify, learns=learns)

    return opened


async def _serve(
    store: str,
    crawls: Crawls,
    place: FrontierPlace,
    names: frozenset[str],
    seeds: Iterable[ListedSeed | Cut],
    notify: Callable[[str], None],
) -> None:
    first = await crawls.of(DEFAULT)  # so that a store that cannot be used is told at once
    sweeping = asyncio.create_task(_sweep(crawls))
    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    try:
        server, port = _opened(place)
        await _put_seeds(first, seeds, notify)
        address = f"{place.host}:{port}"
        server.add_generic_rpc_handlers((handlers(Service(crawls, names, address)),))
        await server.start()
        secure = " over TLS" if place.tls else ""
        notify(f"URLFrontier's API{secure}: {address}, on store {without_password(store)}")
        await over.wait()
        await server.stop(_SECONDS_TO_END)
    finally:
        sweeping.cancel()
        await crawls.close()


async def _sweep(crawls: Crawls) -> None:
    """Sweep again and again, until it is cancelled."""
    while True:
        await asyncio.sleep(_SWEEP)
        await crawls.sweep()


async def _put_seeds(
    crawl: OpenCrawl, seeds: Iterable[ListedSeed | Cut], notify: Callable[[str], None]
) -> None:
    """Put seeds, and say how many were new; what is no URL is told with its place, and skipped."""
    became: Counter[bool | None] = Counter()
    left = iter(seeds)
    while some := list(islice(left, _SEEDS_AT_ONCE)):
        whole = [seed for seed in some if isinstance(seed, ListedSeed)]
        answers = await crawl.put([Item(seed.text, "", b"") for seed in whole])
        for seed, answer in zip(whole, answers, strict=True):
            if answer is None and became[None] < _MOST_TOLD:
                notify(f"canonry: {seed.place}: not a URL; skipped")
            became[answer] += 1
        for cut in some:
            if isinstance(cut, Cut):
                notify(f"canonry: --seeds {cut}; the seeds before that are used")
    if became:
        notify(
            f"{counted(became[True], 'new seed')}, {became[False]:,} already known, "
            f"{became[None]:,} not URLs"
        )


def _opened(place: FrontierPlace) -> tuple["grpc.aio.Server", int]:
    """Return a server that has its port, and the port."""
    interceptors = [] if place.token is None else [_TokenCheck(place.token)]
    server = grpc.aio.server(
        interceptors=interceptors,
        options=[
            ("grpc.max_receive_message_length", _LARGEST),
            ("grpc.max_connection_idle_ms", _IDLE),
            ("grpc.so_reuseport", 0),  # a second server on the port is an error
        ],
    )
    where = f"[{place.host}]:{place.port}" if ":" in place.host else f"{place.host}:{place.port}"
    try:
        if place.tls is None:
            port = server.add_insecure_port(where)
        else:
            port = server.add_secure_port(where, _credentials(place.tls))
    except RuntimeError:
        port = 0
    if not port:
        raise SettingsError(f"the frontier cannot be served on {where}; give another place")
    return server, port


def _credentials(tls: TLSFiles) -> grpc.ServerCredentials:
    key, certificate = _read(tls.key), _read(tls.certificate)
    authority = None if tls.authority is None else _read(tls.authority)
    return grpc.ssl_server_credentials(
        [(key, certificate)],
        root_certificates=authority,
        require_client_auth=authority is not None,
    )


def _read(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}") from None


class _TokenCheck(grpc.aio.ServerInterceptor):
    """Refuses calls that do not bring the token."""

    def __init__(self, token: str) -> None:
        self._expected = f"Bearer {token}"

        async def refuse(_request: Any, context: Any) -> None:  # noqa: ANN401 - of any method
            await context.abort(
                grpc.StatusCode.UNAUTHENTICATED,
                "the call needs the server's token: authorization: Bearer TOKEN",
            )

        self._refusal: Any = grpc.unary_unary_rpc_method_handler(refuse)

    async def intercept_service(
        self,
        continuation: Callable[[Any], Awaitable[Any]],
        handler_call_details: Any,  # noqa: ANN401 - grpc's signature
    ) -> Any:  # noqa: ANN401 - as above
        """Return the handler of a call."""
        given = dict(handler_call_details.invocation_metadata).get("authorization", "")
        if is_same(self._expected, str(given)):
            return await continuation(handler_call_details)
        return self._refusal

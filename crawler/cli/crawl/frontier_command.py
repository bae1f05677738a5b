"""The command ``frontier``: a store as the frontier of another engine."""

from typing import Any

import click

from canonry.crawler.cli.crawl.scope_command import seeds_option
from canonry.crawler.cli.crawl.serve_command import token_of, token_options
from canonry.crawler.cli.described import (
    described,
    host_option,
    policy_option,
    port_option,
    store_option,
)
from canonry.crawler.cli.setting_options import config_option
from canonry.crawler.cli.terminal import render
from canonry.crawler.files.inputs import read_seed_lists
from canonry.crawler.settings import load
from canonry.crawler.web.safety import is_loopback
from canonry.extras import require

_PORT = 7_071


@described(
    "canonry frontier --store crawl.db --seeds seeds.txt",
    "canonry frontier --host 0.0.0.0 --token-file token",
    "canonry frontier --tls-cert cert.pem --tls-key key.pem --tls-ca ca.pem",
)
@store_option
@port_option(_PORT)
@host_option("a token, or --tls-ca")
@seeds_option
@policy_option("that of the store, else web")
@config_option
@token_options
@click.option("--tls-cert", metavar="FILE", help="The server's certificate, as PEM; serves TLS.")
@click.option("--tls-key", metavar="FILE", help="Its private key.")
@click.option(
    "--tls-ca", metavar="FILE", help="Only serve clients with a certificate of this authority."
)
def frontier(
    store: str,
    port: int,
    host: str,
    *,
    seed_lists: tuple[str, ...],
    policy: str | None,
    config: tuple[str, ...],
    token: str | None,
    token_file: str | None,
    **tls: Any,  # noqa: ANN401 - the three files
) -> int:
    """Serve a store as the frontier of another engine: the URLFrontier API, over gRPC.

    An engine such as Apache StormCrawler puts the URLs that it finds, gets those that are due, and
    reports what came of them. Several spellings of a resource are one URL. Ctrl-C ends the server
    and loses nothing.
    """
    require("frontier", "canonry frontier")
    from canonry.crawler.frontier import frontier_server as server  # noqa: PLC0415 - loads grpc

    certificate, key, authority = tls["tls_cert"], tls["tls_key"], tls["tls_ca"]
    if (certificate is None) != (key is None):
        raise click.UsageError("--tls-cert and --tls-key go together.")
    if authority is not None and certificate is None:
        raise click.UsageError("--tls-ca needs --tls-cert and --tls-key.")
    keys = None if certificate is None else server.TLSFiles(certificate, key, authority)
    place = server.FrontierPlace(host, port, token_of(token, token_file), keys)
    if not is_loopback(host) and place.token is None and authority is None:
        raise click.UsageError(
            f"Other machines can reach {host}: give --token-file FILE, or --tls-ca FILE."
        )
    settings = load(config, {})
    seeds = read_seed_lists(seed_lists)
    learns = settings.learn.enabled
    server.serve(store, place, policy, settings.frontier, render.notify, learns=learns, seeds=seeds)
    return 0

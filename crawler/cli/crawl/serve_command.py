"""The command ``serve``, and the option of ``crawl`` for the same page."""

from typing import Any

import click

from canonry.crawler.cli.described import described
from canonry.crawler.cli.ending import with_exit_code
from canonry.crawler.cli.options import store_option
from canonry.crawler.cli.terminal import render
from canonry.crawler.web import serving
from canonry.crawler.web.serving import LOCAL, PORT, Place

_LAST_PORT = 65_535
_port = click.IntRange(0, _LAST_PORT)


class _Where(click.ParamType[Place]):
    """``PORT`` for this machine only, or ``HOST:PORT``."""

    name = "[HOST:]PORT"

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Place:
        """Return where to serve."""
        if isinstance(value, Place):
            return value
        host, _, port = str(value).rpartition(":")
        if not port.isdecimal() or int(port) > _LAST_PORT or "/" in host:
            self.fail(
                f"{value!r} is neither PORT nor HOST:PORT; seeds go before --serve", param, ctx
            )
        return Place(host.strip("[]") or LOCAL, int(port))


serve_option = click.option(
    "--serve",
    "serve",
    type=_Where(),
    is_flag=False,
    flag_value=str(PORT),
    metavar="[[HOST:]PORT]",
    help=f"Serve a live page of this crawl, on port {PORT} if none is given.",
)


@described(
    "canonry serve --store crawl.db",
    "canonry serve --host 0.0.0.0 --token s3cret --allow-host crawl.example.com",
)
@store_option
@click.option("--port", type=_port, default=PORT, show_default=True, help="0 takes a free one.")
@click.option(
    "--host",
    default=LOCAL,
    show_default=True,
    metavar="ADDR",
    help="The address to listen on. One that other machines reach needs a token.",
)
@click.option(
    "--token",
    metavar="T",
    help="Ask viewers for this token.  [default: none on this machine, a random one elsewhere]",
)
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="Also answer to this name, as behind a proxy. Can be repeated.",
)
@with_exit_code
def serve(store: str, port: int, host: str, token: str | None, names: tuple[str, ...]) -> int:
    """Show a store as a live page: what was crawled, what was merged, and why.

    It works while a crawl writes to the store, and does not slow it. Every panel has its data as
    JSON. Ctrl-C ends the server, and leaves the crawl alone.
    """
    serving.serve(store, Place(host, port, token, names), render.notify)
    return 0

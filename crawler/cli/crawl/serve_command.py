"""The command ``serve``, and the option of ``crawl`` for the same page."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from canonry.crawler.cli.described import described, host_option, port_option, store_option
from canonry.crawler.cli.terminal import render
from canonry.crawler.opening import file_of_store
from canonry.crawler.settings import SettingsError
from canonry.crawler.tokens import TOKEN
from canonry.crawler.web import serving
from canonry.crawler.web.listening import LAST_PORT
from canonry.crawler.web.serving import LOCAL, PORT, Place

_Command = TypeVar("_Command", bound=Callable[..., Any])


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
        if not port.isdecimal() or int(port) > LAST_PORT or "/" in host:
            hint = "; seeds go before --serve" if isinstance(param, click.Option) else ""
            self.fail(f"{value!r} is neither PORT nor HOST:PORT{hint}", param, ctx)
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

token_option = click.option(
    "--token",
    metavar="T",
    envvar=TOKEN,
    help="Ask viewers for this token, of 8 characters or more. Other users of this machine can "
    f"read it in the list of processes: {TOKEN} holds it, too.  [default: none on this "
    "machine, a random one elsewhere]",
)
_FILE = "--token-file"
_token_file_option = click.option(
    _FILE, metavar="FILE", help="Ask viewers for the token in the first line of FILE."
)
unlisted_token_file_option = click.option(_FILE, hidden=True, help="The same; scripts have it.")


def token_options(command: _Command) -> _Command:
    """Add the options for the token that a server asks for."""
    return token_option(_token_file_option(command))


def with_token(place: Place | None, token: str | None, file: str | None) -> Place | None:
    """Return a place with the token that viewers need.

    Raises:
        UsageError: if a token is given without a place, or twice.
        SettingsError: if the file cannot be read.
    """
    for option in ("token", "token_file"):
        if place is None and _is_typed(option):
            raise click.UsageError(f"--{option.replace('_', '-')} needs --serve.")
    return place and place._replace(token=token_of(token, file))


def token_of(token: str | None, file: str | None) -> str | None:
    """Return the token of the options, or of the environment.

    Raises:
        UsageError: if both options are given.
        SettingsError: if the file cannot be read.
    """
    if _is_typed("token") and file is not None:
        raise click.UsageError("--token and --token-file exclude each other.")
    return token if file is None else _first_line(file)


def _is_typed(option: str) -> bool:
    source = click.get_current_context().get_parameter_source(option)
    return source is ParameterSource.COMMANDLINE


def _first_line(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8").partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise SettingsError(f"--token-file {file}: cannot be read: {reason}") from None


@described(
    "canonry serve --store crawl.db",
    "canonry serve --host 0.0.0.0 --token-file token --allow-host crawl.example.com",
)
@store_option
@port_option(PORT)
@host_option("a token")
@token_options
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="Also answer viewers who use this name, as behind a proxy. Can be repeated.",
)
def serve(
    store: str,
    port: int,
    host: str,
    *,
    token: str | None,
    token_file: str | None,
    names: tuple[str, ...],
) -> int:
    """Show a store as a live page: what was crawled, what was merged, and why.

    It works while a crawl writes to the store, and does not slow it. Every panel has its data as
    JSON. Ctrl-C ends the server, and leaves the crawl alone.
    """
    found = Place(host, port, token_of(token, token_file), names)
    file = file_of_store(store)
    if file is not None and not Path(file).exists():
        render.notify(f"There is no store {file} yet: the page shows it once a crawl makes it.")
    serving.serve(store, found, render.notify)
    return 0

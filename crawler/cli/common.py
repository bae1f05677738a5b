"""What all commands share: options, exit codes, and errors as one sentence."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import click
import msgspec

from canonry.canon import InvalidURL, PolicyError, RulesError
from canonry.crawler.cli.terminal import render
from canonry.crawler.settings import SettingsError
from canonry.extras import MissingExtraError
from canonry.storage import StoreError, StoreURLError

FAILED, USAGE, INTERRUPTED, NO_SEED = 1, 2, 3, 4
DEFAULT_STORE = "sqlite:///canonry.db"

_P = ParamSpec("_P")


def with_exit_code(command: Callable[_P, int]) -> Callable[_P, None]:
    """Exit with the code that a command returns; print its errors and exit with theirs."""

    @wraps(command)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> None:
        try:
            code = command(*args, **kwargs)
        except (SettingsError, PolicyError, RulesError, MissingExtraError, StoreURLError) as error:
            render.notify(f"canonry: {error}")
            code = USAGE
        except BrokenPipeError:  # the reader has closed the pipe, as "head" does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = FAILED
        except (StoreError, InvalidURL, OSError) as error:
            render.notify(f"canonry: {error}")
            code = FAILED
        except KeyboardInterrupt:
            render.notify("canonry: interrupted; run the same command to start again")
            code = INTERRUPTED
        sys.exit(code)

    return run


policy_option = click.option(
    "--policy",
    metavar="NAME|FILE",
    help="The policy: a preset (web, or one version: web@1), or a TOML file.  "
    "[default: that of the store or of the rules, else web]",
)
base_option = click.option("--base", metavar="URL", help="Resolve relative URLs against this URL.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
store_option = click.option(
    "--store",
    metavar="URL",
    default=DEFAULT_STORE,
    show_default=True,
    help="The store: a file, or a SQLAlchemy URL.",
)
rules_option = click.option(
    "--rules",
    "rules_file",
    metavar="FILE",
    help="Apply the learned rules in FILE, which 'canonry rules export' has written.",
)


def unless_dash(_context: object, _option: object, name: str | None) -> str | None:
    """Return the name of an output; None for "-", which is standard output."""
    return None if name == "-" else name


out_option = click.option(
    "-o",
    "out",
    metavar="FILE",
    callback=unless_dash,
    help="Write to FILE, which appears when it is complete.  [default: stdout]",
)


def print_json(found: object) -> None:
    """Print one JSON object."""
    click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2))

"""What all commands share: their options, their exit codes, and errors as sentences."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import click
import msgspec
from sqlalchemy.exc import ArgumentError

from canonry.canon import InvalidURL, PolicyError, RulesError
from canonry.crawler.cli import render
from canonry.crawler.settings import SettingsError
from canonry.extras import MissingExtraError
from canonry.storage import StoreError

FAILED, USAGE, INTERRUPTED = 1, 2, 3
DEFAULT_STORE = "sqlite:///canonry.db"

_P = ParamSpec("_P")


def answering(command: Callable[_P, int]) -> Callable[_P, None]:
    """Turn a command's errors into a sentence and an exit code."""

    @wraps(command)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> None:
        try:
            code = command(*args, **kwargs)
        except (SettingsError, PolicyError, RulesError, MissingExtraError) as error:
            render.notify(f"canonry: {error}")
            code = USAGE
        except ArgumentError as error:
            render.notify(f"canonry: --store: {error}; for example {DEFAULT_STORE}")
            code = USAGE
        except BrokenPipeError:  # the reader has seen enough, as in "| head"
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = FAILED
        except (StoreError, InvalidURL, OSError) as error:
            render.notify(f"canonry: {error}")
            code = FAILED
        except KeyboardInterrupt:
            render.notify("canonry: interrupted; the same command starts again")
            code = INTERRUPTED
        sys.exit(code)

    return run


policy_option = click.option(
    "--policy", default="web", show_default=True, help="A preset's name, or a TOML file."
)
base_option = click.option("--base", help="Resolve references against this URL.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
store_option = click.option(
    "--store", default=DEFAULT_STORE, show_default=True, help="A SQLAlchemy URL."
)
rules_option = click.option(
    "--rules",
    "rules_file",
    metavar="FILE",
    help="Learned rules, as 'canonry rules export' has them.",
)


def print_json(found: object) -> None:
    """Print one JSON object."""
    click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2))

"""How a command ends: with an exit code, and with errors as one sentence."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from canonry.canon import InvalidURL, PolicyError, RulesError
from canonry.crawler.cli.exit_codes import FAILED, INTERRUPTED, USAGE
from canonry.crawler.cli.terminal import render
from canonry.crawler.settings import SettingsError
from canonry.extras import MissingExtraError
from canonry.storage import StoreError, StoreURLError

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

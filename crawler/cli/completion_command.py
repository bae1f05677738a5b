"""The command ``completion``: the script with which a shell completes the others."""

import click
from click.shell_completion import get_completion_class

from canonry import __title__
from canonry.crawler.cli.described import described

_SHELLS = ("bash", "zsh", "fish")
_VARIABLE = f"_{__title__.upper()}_COMPLETE"


@described(
    'eval "$(canonry completion bash)"',
    "canonry completion fish > ~/.config/fish/completions/canonry.fish",
)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> int:
    """Print the script that makes a shell complete commands, options and names of files.

    Where the package is installed for all users, bash, zsh and fish find it by themselves.
    """
    found = get_completion_class(shell)
    root = context.find_root()
    assert found is not None  # noqa: S101 - click has all of these
    script = found(root.command, {}, __title__, _VARIABLE)
    click.echo(script.source_template % script.source_vars())
    return 0

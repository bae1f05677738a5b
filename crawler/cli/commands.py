"""The command ``canonry``: the list of its subcommands, each imported when it is used."""

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from canonry import __version__
from canonry.canon.pipeline import kernel_in_words
from canonry.crawler.cli.described import DescribedGroup, write_examples
from canonry.crawler.cli.exit_codes import FAILED, INTERRUPTED, USAGE
from canonry.extras import MissingExtraError, naming_extra

# The commands by group, each with its module in this folder; there it has its own name.
_GROUPED = {
    "Crawl": {
        "crawl": "crawl.crawl_command",
        "demo": "crawl.demo_command",
        "scope": "crawl.scope_command",
        "settings": "crawl.settings_command",
        "identity": "crawl.identity_command",
        "serve": "crawl.serve_command",
        "frontier": "crawl.frontier_command",
    },
    "Dumps of URLs": {
        "dedup": "dedup.dedup_command",
        "keys": "dedup.keys_command",
        "migrate": "dedup.migrate_command",
    },
    "URLs": {
        "canon": "urls.url_commands",
        "explain": "urls.url_commands",
        "extract": "urls.url_commands",
    },
    "A store": {
        "status": "store.store_commands",
        "why": "store.store_commands",
        "export": "store.export_command",
        "redirects": "store.redirects_command",
        "hosts": "store.queue_commands",
        "patterns": "store.queue_commands",
        "refused": "store.queue_commands",
        "move": "store.store_commands",
        "upgrade": "store.store_commands",
    },
    "Rules and policies": {
        "rules": "rules.rules_commands",
        "policy": "rules.policy_command",
    },
    "Your shell": {
        "completion": "completion_command",
    },
}
GROUPS = {title: tuple(modules) for title, modules in _GROUPED.items()}
COMMANDS = {name: module for modules in _GROUPED.values() for name, module in modules.items()}

_TO_THE_END = re.DOTALL | re.MULTILINE
EXAMPLES = (
    "canonry crawl https://example.com/ --store crawl.db",
    "canonry status --store crawl.db",
    "canonry why https://example.com/a --store crawl.db",
    "canonry dedup urls.txt.gz -o distinct.txt",
    "canonry explain 'https://example.com/a/../b?utm_source=x'",
)


def help_of(name: str) -> str:
    """Return the first sentence of a command's help, read from its source: nothing is imported."""
    file = Path(__file__).parent / f"{COMMANDS[name].replace('.', '/')}.py"
    found = re.search(
        rf'^def {name}\(.*?"""(.+?)\.\s*?(\n|""")', file.read_text(encoding="utf-8"), _TO_THE_END
    )
    assert found is not None  # noqa: S101 - a test reads all of them
    return " ".join(found[1].split())


class LazyGroup(DescribedGroup):
    """A group that imports a subcommand only to run it, and never to list it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all subcommands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a subcommand; return None if there is none of that name.

        Raises:
            MissingExtraError: if the command needs an extra that is not installed.
        """
        if cmd_name not in COMMANDS:
            return None
        with naming_extra(f"canonry {cmd_name}"):
            module = import_module(f"canonry.crawler.cli.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the lists of subcommands from the table above, with one width for all."""
        widest = max(map(len, COMMANDS))
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), help_of(name)) for name in names])

    def format_epilog(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write some examples; those of a subcommand are in its own help."""
        write_examples(EXAMPLES, formatter)

    def main(self, *args: Any, **more: Any) -> Any:  # noqa: ANN401 - click's signature
        """Run the command; a help that cannot be written ends as results do."""
        try:
            return super().main(*args, **more)
        except MissingExtraError as error:
            click.echo(f"canonry: {error}", err=True)
            sys.exit(USAGE)
        except OSError as error:
            click.echo(f"canonry: {error.strerror or error}", err=True)
            sys.exit(FAILED)

    def invoke(self, ctx: click.Context) -> object:
        """Run a subcommand; Ctrl-C while it is imported ends as it does later."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("canonry: interrupted; run the same command to start again", err=True)
            ctx.exit(INTERRUPTED)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 1_000},
)
@click.version_option(
    __version__,
    message=f"%(prog)s, version %(version)s, {kernel_in_words()}",
)
def main() -> None:
    """Decide which URLs are the same, and say why.

    Results go to standard output, messages to standard error. Exit codes: 0 done, 1 failed, 2 wrong
    usage or settings, 3 interrupted (the message says how to go on), 4 no seed of a crawl
    gave a page.
    """

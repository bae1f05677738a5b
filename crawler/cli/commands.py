"""The command ``canonry``: the list of its subcommands, each imported when it is used."""

import sys
from importlib import import_module
from typing import Any, NamedTuple

import click

from canonry import __version__
from canonry.canon.pipeline import kernel_in_words
from canonry.crawler.cli.described import DescribedGroup, write_examples
from canonry.crawler.cli.exit_codes import FAILED, INTERRUPTED, USAGE
from canonry.extras import MissingExtraError, naming_extra


class Listed(NamedTuple):
    """A subcommand as the help lists it."""

    module: str  # in a room of this folder; the command has its own name there
    help: str  # the first sentence of the command's own help


COMMANDS = {
    "canon": Listed("urls.url_commands", "Print the canonical form of each URL"),
    "completion": Listed(
        "completion_command",
        "Print the script that makes a shell complete commands, options and names of files",
    ),
    "crawl": Listed(
        "crawl.crawl_command", "Crawl from the seed URLs, and report which links were merged"
    ),
    "dedup": Listed(
        "dedup.dedup_command",
        "Print the first line of each distinct resource, or with --prefer the best one",
    ),
    "demo": Listed(
        "crawl.demo_command", "Crawl a generated site, and compare the result with the truth"
    ),
    "explain": Listed("urls.url_commands", "Show which rules change a URL, and why"),
    "export": Listed(
        "store.export_command",
        "Export pages, URLs, aliases, rules, refused URLs, clusters, merges or similar pages",
    ),
    "extract": Listed(
        "urls.url_commands", "Print the URLs in a text, or the links of an HTML page"
    ),
    "frontier": Listed(
        "crawl.frontier_command",
        "Serve a store as the frontier of another engine: the URLFrontier API, over gRPC",
    ),
    "hosts": Listed("store.queue_commands", "Show, block and unblock hosts"),
    "identity": Listed(
        "crawl.identity_command",
        "Make a key for a crawl that signs its requests, and print what to publish of it",
    ),
    "keys": Listed(
        "dedup.keys_command",
        "Show, merge and compare files of keys; move keys into and out of a store",
    ),
    "migrate": Listed(
        "dedup.migrate_command", "Map the keys that another program gave to URLs to Canonry's"
    ),
    "move": Listed(
        "store.store_commands", "Move a store to another database, where its crawl continues"
    ),
    "patterns": Listed(
        "store.queue_commands", "Show patterns of URLs with their budgets; exclude and include them"
    ),
    "policy": Listed("rules.policy_command", "List, show and check policies"),
    "refused": Listed(
        "store.queue_commands", "Show and release refused URLs: those that are held or have failed"
    ),
    "rules": Listed(
        "rules.rules_commands",
        "Show, revoke, reinstate, export, import, mine and convert learned rules",
    ),
    "scope": Listed("crawl.scope_command", "Test which URLs a crawl would follow"),
    "serve": Listed(
        "crawl.serve_command",
        "Show a store as a live page: what was crawled, what was merged, and why",
    ),
    "settings": Listed(
        "crawl.settings_command", "Show the settings of a crawl, and where each comes from"
    ),
    "status": Listed("store.store_commands", "Show what a store holds"),
    "upgrade": Listed(
        "store.store_commands",
        "Change the policy of a store",
    ),
    "why": Listed(
        "store.store_commands",
        "Show all that a store knows of a URL: its state, the reason, and what would change it",
    ),
}

GROUPS = {
    "Crawl": ("crawl", "demo", "scope", "settings", "identity", "serve", "frontier"),
    "Dumps of URLs": ("dedup", "keys", "migrate"),
    "URLs": ("canon", "explain", "extract"),
    "A store": ("status", "why", "export", "hosts", "patterns", "refused", "move", "upgrade"),
    "Rules and policies": ("rules", "policy"),
    "Your shell": ("completion",),
}


EXAMPLES = (
    "canonry crawl https://example.com/ --store crawl.db",
    "canonry status --store crawl.db",
    "canonry why https://example.com/a --store crawl.db",
    "canonry dedup urls.txt.gz -o distinct.txt",
    "canonry explain 'https://example.com/a/../b?utm_source=x'",
)


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
            module = import_module(f"canonry.crawler.cli.{COMMANDS[cmd_name].module}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the lists of subcommands from the tables above, with one width for all."""
        widest = max(map(len, COMMANDS))
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), COMMANDS[name].help) for name in names])

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

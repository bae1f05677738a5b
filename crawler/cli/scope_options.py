"""The options that say where a crawl begins and where it may go."""

from collections.abc import Sequence

import click

from canonry.crawler.cli import render
from canonry.crawler.files.lines import Cut
from canonry.crawler.files.seed_lists import ListedSeed, read_seed_lists

config_option = click.option(
    "--config",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Read settings from FILE (TOML).",
)
scope_option = click.option(
    "--scope",
    type=click.Choice(["host", "domain", "prefix", "any"]),
    help="Links to follow: on the seeds' hosts, on their registrable domains, below the seeds' "
    "directories, or any.  [default: host]",
)
seeds_option = click.option(
    "--seeds",
    "seed_lists",
    multiple=True,
    metavar="FILE|-",
    help="Also read seeds from FILE, or from standard input: one on each line. Blank lines and "
    "lines that begin with # are skipped. Can be repeated.",
)
include_option = click.option(
    "--include",
    multiple=True,
    metavar="PATTERN",
    help="Follow only links that match PATTERN: '*/docs/*', '/docs/*' (path and query), or a "
    "regular expression as in 're:[?&]id=[0-9]+$'. Can be repeated: one has to match.",
)
exclude_option = click.option(
    "--exclude",
    multiple=True,
    metavar="PATTERN",
    help="Follow no links that match PATTERN, which is as for --include and wins. Can be repeated.",
)


def read_lists(files: Sequence[str]) -> tuple[list[ListedSeed], list[Cut]]:
    """Return the seeds of lists, and where a list breaks off, which is told."""
    listed: list[ListedSeed] = []
    cuts: list[Cut] = []
    for found in read_seed_lists(files):
        if isinstance(found, Cut):
            cuts.append(found)
            render.notify(f"canonry: --seeds {found}; the seeds before that are used")
        else:
            listed.append(found)
    return listed, cuts

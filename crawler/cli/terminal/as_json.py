"""Print results for programs."""

import click
import msgspec

from canonry.crawler.look.unseen import escaped


def print_json(found: object) -> None:
    """Print one JSON object."""
    click.echo(escaped(msgspec.json.format(msgspec.json.encode(found), indent=2)))

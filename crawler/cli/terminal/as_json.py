"""Print results for programs."""

import click
import msgspec


def print_json(found: object) -> None:
    """Print one JSON object."""
    click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2))

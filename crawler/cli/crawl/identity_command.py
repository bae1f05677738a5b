"""The command ``identity``: a key with which a crawl signs its requests."""

from pathlib import Path

import click
import msgspec

from canonry.crawler.cli.described import described, out_option
from canonry.crawler.cli.terminal import render
from canonry.crawler.fetch import identity as identities
from canonry.crawler.files import output


@described("canonry identity crawler.pem -o http-message-signatures-directory")
@click.argument("file")
@out_option
def identity(file: str, out: str | None) -> int:
    """Make a key for a crawl that signs its requests, and print what to publish of it.

    FILE gets a private key, or has one already: keep it to yourself. What is printed is its public
    half, as a directory of keys. Publish it below the https URL that says who you are, under
    /.well-known/http-message-signatures-directory, with the media type
    application/http-message-signatures-directory+json. Then set identity and identity_agent in
    [fetch].
    """
    output.check_distinct([("-o", out)], [file])
    if not Path(file).exists():
        identities.make_key(file)
        render.notify(f"{file} has a new private key; nobody else should be able to read it")
    directory = {"keys": [identities.public_key(identities.read_key(file))]}
    text = msgspec.json.format(msgspec.json.encode(directory), indent=2) + b"\n"
    if out is None:
        click.echo(text.decode(), nl=False)
    else:
        with output.atomic(out) as target:
            target.write(text)
    render.notify(f"publish it at https://YOUR-HOST{identities.DIRECTORY}")
    return 0

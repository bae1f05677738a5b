"""The commands about URLs themselves: ``canon``, ``explain``, ``extract``."""

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from canonry.canon import Canonical, Canonicalizer, Refused
from canonry.canon import extract as canon_extract
from canonry.crawler import named_policies
from canonry.crawler.cli.described import (
    base_option,
    described,
    json_option,
    policy_option,
    rules_option,
)
from canonry.crawler.cli.exit_codes import FAILED
from canonry.crawler.cli.terminal import render, url_facts
from canonry.crawler.cli.terminal.render import print_json
from canonry.crawler.compression import Stream, naming_file
from canonry.crawler.documents import html
from canonry.crawler.files import blocks
from canonry.crawler.files.formats import LINES
from canonry.crawler.files.line_streams import LONGEST, Line, in_utf8
from canonry.crawler.inquiry.url_answer import StepFacts, URLAnswer
from canonry.crawler.markup import escaped
from canonry.crawler.plurals import counted
from canonry.crawler.settings import SettingsError

if TYPE_CHECKING:
    from canonry.crawler.lookup import Lookup

_known_store = click.option(
    "--store", metavar="FILE|URL", help="Also use what this store has learned."
)


class CanonicalJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A URL of `canonry canon`."""

    url: str  # to request
    identity: str  # the canonical form
    key: str  # 32 hexadecimal digits


class RefusedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A text that is refused: it is invalid."""

    text: str
    reason: str  # a name, such as relative


class ExplainJSON(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which rules change a URL, and why."""

    text: str  # as given
    policy: str  # name/version
    url: str  # to request
    identity: str  # the canonical form
    key: str  # 32 hexadecimal digits
    cautions: list[str]  # reasons to look twice at the URL
    steps: list[StepFacts]  # from the text to the identity, in order
    store: URLAnswer | None = None  # with --store: what the store knows of the URL


class ExtractJSON(msgspec.Struct, frozen=True, kw_only=True):
    """The URLs of a text, or the links of a page."""

    urls: list[str]
    relative: int  # links left out, since the base is not known


@described(
    "canonry canon 'HTTP://Example.com/%7eann?utm_source=x'",
    "canonry canon < urls.txt > canonical.txt",
    "canonry canon --format surt https://example.com/a",
)
@click.argument("urls", nargs=-1, metavar="[URL]...|-")
@base_option
@policy_option("that of the store or of the rules, else web")
@rules_option
@_known_store
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json", "surt"]),
    default="text",
    show_default=True,
    help="Output format.",
)
@click.option(
    "--json",
    "output_format",
    flag_value="json",
    help="The same as --format json: one JSON object on each line.",
)
def canon(
    urls: tuple[str, ...],
    base: str | None,
    policy: str | None,
    rules_file: str | None,
    store: str | None,
    output_format: str,
) -> int:
    """Print the canonical form of each URL.

    Without URLs, or with "-", it reads standard input and prints one line for each line. A line
    that is not a URL gives an empty line (with --format json, the reason) and a message on standard
    error. With --store, the store's learned rules apply, and a URL that the store knows as a
    redirect or an alias gets the canonical form of the page it leads to.
    """
    texts: Iterable[str | bytes] = _stdin_lines() if urls in {(), ("-",)} else urls
    refused = 0
    with _opened(policy, rules_file, store) as canonicalizer:
        surt = Canonicalizer(canonicalizer.policy).surt
        for result in canonicalizer.many(texts, base):
            if isinstance(result, Refused):
                refused += 1
                render.notify(f"canonry: {result.reason.value}: {result.text[:200]}")
            if output_format == "json":
                click.echo(escaped(msgspec.json.encode(_record(result))))
            elif isinstance(result, Refused):
                click.echo("")
            else:
                click.echo(surt(result.identity) if output_format == "surt" else result.identity)
    return FAILED if refused and texts is urls else 0


@contextmanager
def _opened(
    policy: str | None, rules_file: str | None, store: str | None
) -> Iterator["Canonicalizer | Lookup"]:
    """Open what makes canonical forms: a policy, and rules from a file or from a store."""
    if store is None:
        yield named_policies.canonicalizer(policy, rules_file)
        return
    if rules_file is not None:
        raise SettingsError("--rules and --store: a store has rules of its own; give one of them")
    from canonry.crawler import opening  # noqa: PLC0415 - loads SQLAlchemy

    with opening.open_lookup(store, policy) as lookup:
        yield lookup


def _record(result: Canonical | Refused) -> CanonicalJSON | RefusedJSON:
    """Return a result as it is printed."""
    if isinstance(result, Refused):
        return RefusedJSON(text=result.text, reason=result.reason.name.lower())
    return CanonicalJSON(url=result.url, identity=result.identity, key=result.key.hex())


def _stdin_lines() -> Iterator[bytes]:
    """Yield the lines of standard input."""
    for line in blocks.lines_of(blocks.read(["-"], input_format=LINES)):
        if isinstance(line, Line):
            if line.refused:
                render.notify(f"canonry: line {line.number}: longer than {LONGEST:,} bytes")
            yield b"" if line.refused else line.text


@described(
    "canonry explain 'https://example.com/a/../b?utm_source=x'",
    "canonry explain https://example.com/a --store crawl.db --json",
)
@click.argument("url")
@base_option
@policy_option("that of the store or of the rules, else web")
@rules_option
@_known_store
@json_option
def explain(
    url: str,
    base: str | None,
    policy: str | None,
    rules_file: str | None,
    store: str | None,
    *,
    as_json: bool,
) -> int:
    """Show which rules change a URL, and why.

    For a learned rule, it also shows the evidence for the rule. With --store, it shows what the
    store knows of the URL, too, as 'canonry why' does.
    """
    with _opened(policy, rules_file, store) as canonicalizer:
        trace = canonicalizer.explain(url, base)
    answer = None
    if store is not None:
        from canonry.crawler.inquiry.ask import ask  # noqa: PLC0415 - loads SQLAlchemy
        from canonry.storage.reading import report  # noqa: PLC0415 - as above

        with report.reading(store) as connection:
            answer = ask(connection, trace.url, time.time(), policy)
    if as_json:
        print_json(ExplainJSON(**trace.as_dict(), store=answer))
    else:
        render.trace(trace)
        if answer is not None:
            url_facts.show_facts(answer, render.out())
    return 0


@described(
    "canonry extract message.txt",
    "canonry extract page.html --base https://example.com/",
)
@click.argument("file", metavar="FILE|-")
@base_option
@click.option(
    "--suffixes",
    is_flag=True,
    help="Also find URLs without a scheme, such as www.example.com/a; they get http://.",
)
@json_option
def extract(file: str, base: str | None, *, suffixes: bool, as_json: bool) -> int:
    """Print the URLs in a text, or the links of an HTML page.

    In a text, a URL stands in angle brackets, in quotes, after "URL:" or by itself (RFC 3986
    appendix C). The links of a page are resolved against its base URL. If the base is not known,
    relative links are left out and counted: give --base.
    """
    with naming_file(file):
        body = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    relative = 0
    if html.looks_like_html(body):
        urls, relative = html.absolute_links(body, base)
        if relative:
            links = counted(relative, "relative link")
            render.notify(f"canonry: {links} left out; give the page's URL with --base")
    else:
        text = in_utf8(Stream(BytesIO(body))).read()
        urls = [hit.url for hit in canon_extract(text, suffixes=suffixes)]
    if as_json:
        print_json(ExtractJSON(urls=urls, relative=relative))
        return 0
    for url in urls:
        click.echo(url)
    return 0

"""The command ``why``: all that a store knows of one URL."""

import time

import click
from rich.markup import escape

from canonry.canon.policies import versioned_name
from canonry.crawler.cli.described import described, json_option, store_option
from canonry.crawler.cli.ending import with_exit_code
from canonry.crawler.cli.terminal import render, url_facts
from canonry.crawler.cli.terminal.render import print_json
from canonry.crawler.inquiry.ask import ask
from canonry.storage.reading import report


@described(
    "canonry why https://example.com/a --store crawl.db",
    "canonry why https://example.com/a --json",
)
@click.argument("url")
@store_option
@click.option(
    "--policy",
    metavar="NAME|FILE",
    help="The store's policy, if neither a preset nor its last crawl names it.",
)
@json_option
@with_exit_code
def why(url: str, store: str, policy: str | None, *, as_json: bool) -> int:
    """Show all that a store knows of a URL: its state, the reason, and what would change it.

    This is where the URL was found, the line of robots.txt that holds it, the scope, the limits and
    the learned rules, its redirects, its errors, when it is tried again, and which setting or
    command lifts what holds it. It works while a crawl is writing to the store, too.
    """
    with report.reading(store) as connection:
        answer = ask(connection, url, time.time(), policy)
    if as_json:
        print_json(answer)
        return 0
    console = render.out()
    console.print(f"[bold]{escape(answer.asked)}[/]")
    url_facts.show_facts(answer, console)
    if answer.identity is not None:
        url_facts.show("request", answer.url or "", console)
        url_facts.show("identity", answer.identity, console)
        if answer.rules and answer.rules[-1].predicts != answer.identity:
            made = f"the learned rules make it {answer.rules[-1].predicts}"
            url_facts.show("", made, console)
        url_facts.show("SURT", answer.surt or "", console)
        made_by = versioned_name(answer.policy or "")
        url_facts.show("key", f"{answer.key} (policy {made_by})", console)
        for step in answer.steps:
            url_facts.show("step", f"{step.name}: {step.why} {step.cites}", console)
            url_facts.show("", f"it makes {step.after}", console)
    return 0

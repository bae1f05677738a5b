"""The commands about a store: ``status``, ``why``, ``upgrade``, ``move``."""

import time

import click
import msgspec
from msgspec.structs import replace
from rich.markup import escape

from canonry import __version__
from canonry.canon.pipeline import is_compiled
from canonry.canon.policies import versioned_name
from canonry.crawler import policy_upgrade
from canonry.crawler.cli.described import described, json_option, known_policy_option, store_option
from canonry.crawler.cli.status_json import told
from canonry.crawler.cli.terminal import render, summaries, url_facts
from canonry.crawler.cli.terminal.render import print_json
from canonry.crawler.inquiry.ask import ask
from canonry.crawler.named_policies import find_policy
from canonry.crawler.plurals import counted
from canonry.crawler.run.job import lease_owners
from canonry.crawler.settings import SettingsError
from canonry.storage.copying import move as move_store
from canonry.storage.facts import read_facts
from canonry.storage.reading import report
from canonry.storage.sql.engine import without_password


class ExampleJSON(msgspec.Struct, frozen=True, kw_only=True):
    """Two URLs that would become one, or two."""

    url: str
    other: str
    rules: str  # that merge them, or did


class UpgradeJSON(msgspec.Struct, frozen=True, kw_only=True, rename={"made": "from"}):
    """What a change of a store's policy did, or would do."""

    made: str  # the policy before: name/version
    to: str  # the policy now
    urls: int | None = None  # before; null: no key was changed
    merged: int = 0  # URLs that became one with another
    split: int = 0  # targets that became URLs of their own
    continued: bool = False  # an earlier try had begun
    dry_run: bool = False  # True: this is what would be done
    apart: int | None = None  # with --dry-run: merged links whose URLs would be two
    merged_examples: list[ExampleJSON] = []  # with --dry-run
    split_examples: list[ExampleJSON] = []  # with --dry-run
    apart_examples: list[ExampleJSON] = []  # with --dry-run


class MovedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """What was moved to another database."""

    rows: int
    before: int  # of these, by runs that were interrupted
    seconds: float


@described("canonry status --store crawl.db", "canonry status --json")
@store_option
@json_option
def status(store: str, *, as_json: bool) -> int:
    """Show what a store holds.

    This works while a crawl is writing to the store, too.
    """
    with report.reading(store) as connection:
        store_status = told(report.status(connection))
    if store_status["job"] is not None:
        store_status["job"]["state"] = lease_owners.state_now(store_status["job"])
    if as_json:
        print_json(store_status)
    else:
        summaries.status(store_status)
        kernel = "compiled" if is_compiled() else "not compiled, so slower"
        render.notify(f"canonry {__version__}, {kernel}")
    return 0


@described(
    "canonry upgrade --store crawl.db --policy search --dry-run",
    "canonry upgrade --store crawl.db --policy search",
)
@store_option
@click.option(
    "--policy",
    metavar="NAME|FILE",
    required=True,
    help="Change the keys to this policy: a preset, or a TOML file.",
)
@click.option("--dry-run", is_flag=True, help="Count what would change, and change nothing.")
@json_option
def upgrade(store: str, policy: str, *, dry_run: bool, as_json: bool) -> int:
    """Change the policy of a store.

    URLs that are one under the new policy are merged; pages, classes, learned rules and the queue
    stay right. If the process is killed, the store is as it was, and the same command goes on from
    there. Stop all crawls that use the store first.
    """
    begun = UpgradeJSON(made=policy_upgrade.made_under(store), to="", dry_run=dry_run)
    _change_policy(store, policy, begun, as_json)
    return 0


def _change_policy(store: str, policy: str, begun: UpgradeJSON, as_json: bool) -> None:  # noqa: FBT001 - the option
    """Change the policy of a store, or count what would change, and print it.

    Args:
        store: a path or a SQLAlchemy URL.
        policy: the one to change to.
        begun: what is known before.
        as_json: print it for programs.
    """
    old_label, new_policy = begun.made, find_policy(policy)
    begun = replace(begun, to=new_policy.label)
    if new_policy.label == old_label:
        with report.reading(store) as connection:
            changed = read_facts(connection)["fingerprint"] != new_policy.fingerprint
        if changed:
            raise SettingsError(
                f"policy {new_policy.versioned_name} has changed since the store was made, but not "
                "its version; raise its version"
            )
        render.notify(f"its policy is {new_policy.versioned_name} already; no key was changed")
        if as_json:
            print_json(begun)
        return
    with render.row_progress("upgrade") as advance:
        if begun.dry_run:
            foreseen = policy_upgrade.foresee_change(store, new_policy, advance)
            if as_json:
                print_json(replace(begun, **foreseen.as_dict()))
            else:
                summaries.forecast(versioned_name(old_label), new_policy.versioned_name, foreseen)
            return
        change = policy_upgrade.change_policy(store, new_policy, render.notify, advance)
    if as_json:
        print_json(replace(begun, **change._asdict()))
    render.notify(
        f"policy {versioned_name(old_label)} is now {new_policy.versioned_name}: "
        f"{change.urls:,} URLs, of which "
        f"{change.merged:,} were merged with others; "
        f"{counted(change.split, 'target')} became URLs of their own"
    )


@described(
    "canonry why https://example.com/a --store crawl.db",
    "canonry why https://example.com/a --json",
)
@click.argument("url")
@store_option
@known_policy_option
@json_option
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


@described(
    "canonry move --from crawl.db --to postgresql://crawler@db.example/canonry",
    "canonry move --from postgresql://crawler@db.example/canonry --to crawl.db",
)
@click.option("--from", "source", metavar="FILE|URL", required=True, help="The store to move.")
@click.option("--to", "target", metavar="FILE|URL", required=True, help="An empty database.")
@json_option
def move(source: str, target: str, *, as_json: bool) -> int:
    """Move a store to another database, where its crawl continues.

    The store is read, and stays as it is; stop its crawl or frontier first. If the process is
    killed, the same command goes on from there. The new database is a store when it has everything,
    and not before.
    """
    start = time.monotonic()
    with render.row_progress("move") as advance:
        moved = move_store(source, target, advance, lambda text: render.notify(f"canonry: {text}"))
    seconds = round(time.monotonic() - start, 3)
    if as_json:
        print_json(MovedJSON(rows=moved.rows, before=moved.before, seconds=seconds))
    old, new = without_password(source), without_password(target)
    render.notify(
        f"{counted(moved.rows, 'row')} moved from {old} to {new} in {seconds:.1f} s; "
        f"go on with --store {new}"
    )
    return 0

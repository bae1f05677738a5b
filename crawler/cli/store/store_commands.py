"""The commands about a store: ``status``, ``upgrade``."""

import click
from msgspec.structs import replace

from canonry import __version__
from canonry.canon.pipeline import is_compiled
from canonry.canon.policies import versioned_name
from canonry.crawler import policy_upgrade
from canonry.crawler.cli.described import described, json_option, store_option
from canonry.crawler.cli.ending import with_exit_code
from canonry.crawler.cli.printed.store_json import UpgradeJSON, told
from canonry.crawler.cli.terminal import render, summaries
from canonry.crawler.cli.terminal.render import print_json
from canonry.crawler.named_policies import find_policy
from canonry.crawler.plurals import counted
from canonry.crawler.run.job import lease_owners
from canonry.crawler.settings import SettingsError
from canonry.storage.facts import read_facts
from canonry.storage.reading import report


@described("canonry status --store crawl.db", "canonry status --json")
@store_option
@json_option
@with_exit_code
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
@with_exit_code
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

"""The commands ``canonry rules``: show, revoke and reinstate rules; the group of all."""

import time
from collections.abc import Sequence
from typing import Annotated

import click
import msgspec

from canonry.canon.learned import RULE_STATES, RuleState, describe, without_port
from canonry.crawler import opening
from canonry.crawler.cli.described import DescribedGroup, json_option, policy_option, store_option
from canonry.crawler.cli.rules.shared_rules import (
    convert_rules,
    export_rules,
    import_rules,
    mine_rules,
)
from canonry.crawler.cli.terminal import render, summaries
from canonry.crawler.cli.terminal.render import print_json
from canonry.crawler.inquiry.rule_facts import (
    ALL,
    RuleAnswer,
    StateCount,
    answer_of,
    count_suppressed,
    report_on,
    standing_in,
    state_counts,
)
from canonry.crawler.inquiry.rule_names import listing
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.plurals import counted
from canonry.storage.learned import rule_rows
from canonry.storage.reading import report
from canonry.storage.shown import Shown


class RevokedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that is revoked now."""

    id: str
    says: str  # for people
    released: int  # URLs that went back to the queue


class ReinstatedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that is back."""

    id: str
    says: str  # for people
    state: RuleState
    held: int  # queued URLs, as duplicates
    doubt: str | None  # what speaks against it


class RulesJSON(msgspec.Struct, frozen=True, kw_only=True):
    """Learned rules."""

    rules: Annotated[list[RuleAnswer], Shown("Rules")]


@click.group(cls=DescribedGroup)
def rules() -> None:
    """Show, revoke, reinstate, export, import, mine and convert learned rules.

    A rule says which URLs of a host are the same. It is learned from evidence, suppresses fetches
    while it holds, and is revoked if the host proves it wrong: docs/explanation/learning.md.
    """


for _command in (export_rules, import_rules, mine_rules, convert_rules):
    rules.add_command(_command)


_named = click.argument("rule", metavar="ID")


@rules.command(
    "list",
    examples=(
        "canonry rules list --store crawl.db",
        "canonry rules list --state active --host example.com --json",
    ),
)
@store_option
@click.option(
    "--state",
    "states",
    type=click.Choice(RULE_STATES),
    multiple=True,
    help="Only rules in this state.",
)
@click.option(
    "--host", metavar="HOST", help="Only rules about this host, on any port or on one (HOST:PORT)."
)
@click.option("--all", "everything", is_flag=True, help="All rules, also candidates and parts.")
@json_option
def list_rules(
    store: str, states: tuple[str, ...], host: str | None, *, everything: bool, as_json: bool
) -> int:
    """List the rules: what they say, how many pages speak for them, and how many URLs they hold.

    Without --state or --all, candidates are not listed: they have no effect yet. Rules for parts of
    a host that say the same as a rule for all of it are counted there; --all and --json list them.
    """
    every = RULE_STATES if everything else tuple(s for s in RULE_STATES if s != "candidate")
    with report.reading(store) as connection:
        wanted = states or every
        matching_rules = [
            rule
            for rule in rule_rows.in_states(connection, wanted)
            if host in {None, rule.rewrite.host, without_port(rule.rewrite.host)}
        ]
        count_suppressed(connection, matching_rules)
        counts = [] if matching_rules or as_json else state_counts(connection)
    folded = [] if as_json else listing(matching_rules, everything=everything)
    rows = (
        [answer_of(rule) for rule in matching_rules]
        if as_json
        else [answer_of(rule, folded=number) for rule, number in folded]
    )
    render.listed(RulesJSON(rules=rows), as_json=as_json)
    if not (matching_rules or as_json):
        render.notify(_nothing_found(counts, everything=everything or bool(states)))
    return 0


def _nothing_found(counts: Sequence[StateCount], *, everything: bool) -> str:
    """Return what to say if no rule is listed."""
    nonzero = [one for one in counts if one.rules]
    if not nonzero:
        return "no rules; crawls learn them, and 'canonry rules import' imports them"
    number = counted(sum(one.rules for one in nonzero), "rule")
    more = " or more" * any(one.or_more for one in nonzero)
    states = ", ".join(f"{one.rules:,} {one.state}" for one in nonzero)
    hint = "" if everything else "; --all lists candidates, too"
    return f"no rule matches; the store has {number}{more}: {states}{hint}"


@rules.command("show", examples=("canonry rules show 3f8a0c91d2 --store crawl.db",))
@_named
@store_option
@json_option
def show_rule(rule: str, store: str, *, as_json: bool) -> int:
    """Show a rule: what is missing until it acts, or what would end it; and its evidence, by URLs.

    Evidence is pairs of URLs which the rule makes one, and what they turned out to be: the same
    page, others, or not known yet; by their content, by a redirect or a canonical link (the site's
    own word), or from a log.
    """
    with report.reading(store) as connection:
        found = report_on(
            connection, rule_store.find(connection, rule), most=ALL, shown=summaries.PAIRS
        )
    if as_json:
        print_json(found)
    else:
        summaries.rule(found)
    return 0


@rules.command(examples=("canonry rules revoke 3f8a0c91d2 --store crawl.db",))
@_named
@store_option
@policy_option("that of the store")
@json_option
def revoke(rule: str, store: str, policy: str | None, *, as_json: bool) -> int:
    """Revoke a rule for good; the URLs that it held go back to the queue.

    The next crawl with this store fetches them. The rule is not learned again; 'canonry rules
    reinstate' brings it back. A running crawl follows at its next step.
    """
    with opening.changing(store, policy, render.notify) as (connection, canonicalizer):
        stored_rule = rule_store.find(connection, rule)
        was_revoked = stored_rule.state == "revoked"
        released = 0
        if not was_revoked:
            applied = rule_store.revoke(connection, stored_rule, canonicalizer, time.time())
            released = len(applied.released)
    description = describe(stored_rule.rewrite)
    if as_json:
        print_json(RevokedJSON(id=stored_rule.id, says=description, released=released))
    if was_revoked:
        render.notify(
            f"rule {stored_rule.id} was revoked before: {description}; nothing was changed"
        )
        return 0
    asked = "; the next crawl with this store fetches them" if released else ""
    render.notify(
        f"rule {stored_rule.id} is revoked: {description}; "
        f"{counted(released, 'URL')} went back to the queue{asked}"
    )
    return 0


@rules.command(examples=("canonry rules reinstate 3f8a0c91d2 --trial --store crawl.db",))
@_named
@store_option
@policy_option("that of the store")
@click.option("--trial", is_flag=True, help="Make it a candidate.")
@json_option
def reinstate(rule: str, store: str, policy: str | None, *, trial: bool, as_json: bool) -> int:
    """Bring back a rule that was revoked; queued URLs that it changes are held again.

    Its evidence stays, so a crawl revokes it again if that speaks against it. With --trial it is
    a candidate: it holds nothing until its evidence is enough. A running crawl follows at its next
    step.
    """
    with opening.changing(store, policy, render.notify) as (connection, canonicalizer):
        stored_rule = rule_store.find(connection, rule)
        applied = rule_store.reinstate(
            connection, stored_rule, canonicalizer, time.time(), trial=trial
        )
        standing = standing_in(connection, stored_rule)
    doubt = standing.sentence if standing.is_doomed else None
    description, held = describe(stored_rule.rewrite), len(applied.held)
    if as_json:
        print_json(
            ReinstatedJSON(
                id=stored_rule.id, says=description, state=stored_rule.state, held=held, doubt=doubt
            )
        )
    render.notify(
        f"rule {stored_rule.id} is reinstated: {description}; "
        f"{counted(held, 'queued URL')} held as duplicates"
    )
    render.notify(f"{'canonry: ' * standing.is_doomed}rule {stored_rule.id}: {standing.sentence}")
    return 0

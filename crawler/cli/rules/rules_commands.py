"""The commands ``canonry rules``: show, revoke and reinstate rules; the group of all."""

import time
from collections.abc import Sequence

import click

from canonry.canon import Canonicalizer
from canonry.canon.learned import RULE_STATES, describe, without_port
from canonry.crawler import opening
from canonry.crawler.cli.described import DescribedGroup
from canonry.crawler.cli.ending import with_exit_code
from canonry.crawler.cli.options import json_option, policy_option, store_option
from canonry.crawler.cli.printed.rule_json import (
    ReinstatedJSON,
    RevokedJSON,
    RuleJSON,
    ShownRuleJSON,
)
from canonry.crawler.cli.rules.shared_rules import (
    convert_rules,
    export_rules,
    import_rules,
    mine_rules,
)
from canonry.crawler.cli.terminal import render, summaries
from canonry.crawler.cli.terminal.as_json import print_json
from canonry.crawler.inquiry.last_crawl import last_crawl, policy_of
from canonry.crawler.inquiry.rule_facts import (
    StateCount,
    count_spared,
    said_against,
    state_counts,
)
from canonry.crawler.learn.life import experience
from canonry.crawler.learn.life import thresholds as learning
from canonry.crawler.learn.life.in_words import IN_STATE
from canonry.crawler.learn.rules import reinstatement, rule_store
from canonry.crawler.learn.rules.gate import reason_held_back
from canonry.crawler.learn.rules.rule_listing import listing
from canonry.crawler.plurals import counted
from canonry.storage import report
from canonry.storage.learned import rule_rows
from canonry.storage.timestamps import iso


@click.group(cls=DescribedGroup)
def rules() -> None:
    """Show, revoke, reinstate, export, import, mine and convert learned rules.

    A rule says which URLs of a host are the same. It is learned from evidence, spares fetches
    while it holds, and is revoked if the host proves it wrong: docs/explanation/learning.md.
    """


for _command in (export_rules, import_rules, mine_rules, convert_rules):
    rules.add_command(_command)


_WIDE = 100  # columns; a narrower table has no room for the time of day
_DAY = len("2026-11-22")
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
    "--state", type=click.Choice(RULE_STATES), multiple=True, help="Only rules in this state."
)
@click.option(
    "--host", metavar="HOST", help="Only rules about this host, on any port or on one (HOST:PORT)."
)
@click.option("--all", "everything", is_flag=True, help="All rules, also candidates and parts.")
@json_option
@with_exit_code
def list_rules(
    store: str, state: tuple[str, ...], host: str | None, *, everything: bool, as_json: bool
) -> int:
    """List the rules: what they say, their evidence, and how many fetches they spared.

    Without --state or --all, candidates are not listed: they have no effect yet. Rules for parts of
    a host that say the same as a rule for all of it are counted there; --all and --json list them.
    """
    every = RULE_STATES if everything else tuple(s for s in RULE_STATES if s != "candidate")
    with report.reading(store) as connection:
        wanted = state or every
        found = [
            rule
            for rule in rule_rows.in_states(connection, wanted)
            if host in {None, rule.rewrite.host, without_port(rule.rewrite.host)}
        ]
        count_spared(connection, found)
        others = [] if found or as_json else state_counts(connection)
    if as_json:
        print_json([RuleJSON(**RuleJSON.fields_of(rule)) for rule in found])
        return 0
    shown = None if render.out().width > _WIDE else _DAY
    render.table(
        "Rules",
        ("id", "state", "says", "agree", "disagree", "spared", "last verified"),
        [
            (
                rule.id,
                rule.state,
                describe(rule.rewrite) + (f", and {folded:,} more for its folders" * bool(folded)),
                rule.agree,
                rule.disagree,
                rule.spared,
                render.moment(iso(rule.verified_at))[:shown],
            )
            for rule, folded in listing(found, everything=everything)
        ],
    )
    if not found:
        render.notify(_nothing_found(others, everything=everything or bool(state)))
    return 0


def _nothing_found(others: Sequence[StateCount], *, everything: bool) -> str:
    """Return what to say if no rule is listed."""
    known = [one for one in others if one.rules]
    if not known:
        return "no rules; crawls learn them, and 'canonry rules import' imports them"
    number = counted(sum(one.rules for one in known), "rule")
    more = " or more" * any(one.or_more for one in known)
    states = ", ".join(f"{one.rules:,} {one.state}" for one in known)
    hint = "" if everything else "; --all lists candidates, too"
    return f"no rule matches; the store has {number}{more}: {states}{hint}"


@rules.command("show", examples=("canonry rules show 3f8a0c91d2 --store crawl.db",))
@_named
@store_option
@json_option
@with_exit_code
def show_rule(rule: str, store: str, *, as_json: bool) -> int:
    """Show a rule: its state, its evidence for and against, with URLs, and how experience counted.

    Experience is how rules of its family ended elsewhere. If a rule is not active yet, it says what
    holds it back.
    """
    limits = learning.load()
    with report.reading(store) as connection:
        found = rule_store.find(connection, rule)
        count_spared(connection, [found])
        priors = experience.priors_for(connection, limits)
        canonicalizer = Canonicalizer(policy_of(connection, last_crawl(connection)))
        held_back = reason_held_back(connection, found, canonicalizer, limits, time.time())
        against = [] if as_json else said_against(connection, canonicalizer, found)
    family = found.rewrite.family
    counted = experience.explain(found, limits.family[family], priors[family])
    if as_json:
        shown = RuleJSON.fields_of(found)
        print_json(ShownRuleJSON(**shown, experience=counted, held_back=held_back))
    else:
        summaries.rule(found, describe(found.rewrite), counted, held_back, against)
    return 0


@rules.command(examples=("canonry rules revoke 3f8a0c91d2 --store crawl.db",))
@_named
@store_option
@policy_option
@json_option
@with_exit_code
def revoke(rule: str, store: str, policy: str | None, *, as_json: bool) -> int:
    """Revoke a rule for good; the URLs that it held go back to the queue.

    The next crawl with this store asks them. The rule is not learned again; 'canonry rules
    reinstate' brings it back. A running crawl follows at its next step.
    """
    with opening.changing(store, policy, render.notify) as (connection, canonicalizer):
        found = rule_store.find(connection, rule)
        was_revoked = found.state == "revoked"
        released = 0
        if not was_revoked:
            done = rule_store.revoke(connection, found, canonicalizer, time.time())
            released = len(done.released)
    says = describe(found.rewrite)
    if as_json:
        print_json(RevokedJSON(id=found.id, says=says, released=released))
    if was_revoked:
        render.notify(f"rule {found.id} was revoked before: {says}; nothing was changed")
        return 0
    asked = "; the next crawl with this store asks them" if released else ""
    render.notify(
        f"rule {found.id} is revoked: {says}; "
        f"{counted(released, 'URL')} went back to the queue{asked}"
    )
    return 0


@rules.command(examples=("canonry rules reinstate 3f8a0c91d2 --trial --store crawl.db",))
@_named
@store_option
@policy_option
@click.option("--trial", is_flag=True, help="Put it on probation.")
@json_option
@with_exit_code
def reinstate(rule: str, store: str, policy: str | None, *, trial: bool, as_json: bool) -> int:
    """Bring back a rule that was revoked or frozen; queued URLs that it changes are held again.

    Its evidence stays, so a crawl revokes it again if that speaks against it. With --trial it
    starts on probation: it spares no fetch until its predictions hold. A running crawl follows at
    its next step.
    """
    with opening.changing(store, policy, render.notify) as (connection, canonicalizer):
        found = rule_store.find(connection, rule)
        done = reinstatement.reinstate(connection, found, canonicalizer, time.time(), trial=trial)
        doubt = reinstatement.doubt_about(connection, found, learning.load())
    says, held = describe(found.rewrite), len(done.held)
    if as_json:
        print_json(
            ReinstatedJSON(id=found.id, says=says, state=found.state, held=held, doubt=doubt)
        )
    render.notify(
        f"rule {found.id} is reinstated, and {IN_STATE[found.state]}: {says}; "
        f"{counted(held, 'queued URL')} held as duplicates"
    )
    if doubt is not None:
        render.notify(f"canonry: rule {found.id}: {doubt}")
    return 0

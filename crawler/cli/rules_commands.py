"""The commands ``canonry rules``: what was learned, for people to see, take back, take along."""

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from canonry.canon import LearnedRule, RuleSet
from canonry.canon.learned.ruleset import STATES
from canonry.crawler import opening
from canonry.crawler.cli import render
from canonry.crawler.cli.common import (
    answering,
    json_option,
    policy_option,
    print_json,
    store_option,
)
from canonry.crawler.compression import decompressed
from canonry.crawler.files import blocks, lines, output
from canonry.crawler.learn import mine, rule_store
from canonry.crawler.learn import thresholds as learning
from canonry.crawler.learn.evidence import Case
from canonry.storage import report
from canonry.storage.store import read_facts


@click.group()
def rules() -> None:
    """Show, revoke, export, import and mine learned rules.

    A rule says which URLs of a host are the same. It rests on evidence, spares fetches while it
    holds, and is taken back where the host says otherwise: docs/learning.md.
    """


_out = click.option("-o", "out", help="Write here, whole or not at all.  [default: stdout]")
_HEAD = 4096
_named = click.argument("rule", metavar="ID")


@rules.command("list")
@store_option
@click.option("--state", type=click.Choice(STATES), multiple=True, help="Only rules in this state.")
@click.option("--host", help="Only rules about this host.")
@json_option
@answering
def list_rules(store: str, state: tuple[str, ...], host: str | None, *, as_json: bool) -> int:
    """List the rules: what they say, what they rest on, what they spared.

    Without --state, candidates are left out: they have done nothing yet.
    """
    with report.reading(store) as connection:
        wanted = state or tuple(s for s in STATES if s != "candidate")
        found = [
            case
            for case in rule_store.cases(connection, wanted)
            if host in {None, case.lesson.host}
        ]
    if as_json:
        print_json([_plain(case) for case in found])
        return 0
    render.table(
        "Rules",
        ("id", "state", "says", "agree", "disagree", "spared", "last verified"),
        [
            (
                case.id,
                case.state,
                rule_store.words(case.lesson),
                case.agree,
                case.disagree,
                case.spared,
                render.moment(case.verified_at),
            )
            for case in found
        ],
    )
    if not found:
        render.notify("no rules; crawls learn them, and 'canonry rules import' brings them in")
    return 0


@rules.command("show")
@_named
@store_option
@json_option
@answering
def show_rule(rule: str, store: str, *, as_json: bool) -> int:
    """Tell all about a rule: its evidence and what speaks against it, with URLs."""
    with report.reading(store) as connection:
        case = rule_store.find(connection, rule)
    if as_json:
        print_json(_plain(case))
    else:
        render.rule(case, rule_store.words(case.lesson))
    return 0


@rules.command()
@_named
@store_option
@policy_option
@answering
def revoke(rule: str, store: str, policy: str) -> int:
    """Take a rule back, for good; what was not fetched for it goes back to the queue.

    It is not learned again; 'canonry rules import' can bring it back. A crawl that is running takes
    note at its next step.
    """
    with opening.changing(store, policy, render.notify) as (connection, canonicalizer):
        case = rule_store.find(connection, rule)
        done = rule_store.revoke(connection, case, canonicalizer, time.time())
    render.notify(
        f"rule {case.id} is revoked: {rule_store.words(case.lesson)}; "
        f"{len(done.released):,} URLs went back to the queue"
    )
    return 0


@rules.command("export")
@store_option
@click.option(
    "--state",
    type=click.Choice(STATES),
    multiple=True,
    default=("active",),
    show_default=True,
    help="Rules in this state.",
)
@_out
@answering
def export_rules(store: str, state: tuple[str, ...], out: str | None) -> int:
    """Write rules as a file: readable, versioned, and made for one policy.

    'canonry canon --rules', 'canonry dedup --rules' and canon.Canonicalizer(policy, rules=...) read
    it, and so does 'canonry rules import'.
    """
    with report.reading(store) as connection:
        policy = read_facts(connection)["policy"]
        found = RuleSet(rule_store.rules_in(connection, state), policy)
    _write(found, out)
    return 0


@rules.command("import")
@click.argument("file")
@store_option
@policy_option
@click.option("--trial", is_flag=True, help="Active rules have to prove themselves once more.")
@answering
def import_rules(file: str, store: str, policy: str, *, trial: bool) -> int:
    """Bring rules from a file into a store; those that are active act from then on.

    With --trial they are put on probation: they spare no fetch before they have predicted well.
    """
    given = opening.find_rules(file, opening.find_policy(policy))
    with opening.changing(store, policy, render.notify) as (connection, canonicalizer):
        done = rule_store.bring(connection, given.rules, canonicalizer, time.time(), trial=trial)
    render.notify(
        f"{len(given.rules):,} rules brought in, {len(given) * (not trial):,} of them active; "
        f"{len(done.held):,} queued URLs are known by another name"
    )
    return 0


@rules.command("mine")
@click.argument("files", nargs=-1, required=True, metavar="FILE...|-")
@policy_option
@_out
@click.option("--store", help="Bring the candidates into this store.")
@json_option
@answering
def mine_rules(
    files: tuple[str, ...], policy: str, out: str | None, store: str | None, *, as_json: bool
) -> int:
    """Learn from a log of redirects: old URL, new URL, status; lines of CDX and CDXJ; or WARC.

    Only candidates come of it: a log tells where URLs led, and not what they held, nor what became
    of them. In a store they spare nothing before a crawl has seen them predict well.
    """
    canonicalizer = opening.canonicalizer(policy, None)
    found = mine.mine(_pairs(files), canonicalizer, learning.load())
    summary: dict[str, Any] = {
        "redirects": found.pairs,
        "other_lines": found.other,
        "refused": found.refused,
        "candidates": len(found.rules),
    }
    if store is not None:
        with opening.changing(store, policy, render.notify) as (connection, canonicalizer):
            rule_store.bring(connection, found.rules, canonicalizer, time.time())
    if as_json:
        print_json(summary)
    if out is not None or not as_json:
        _write(RuleSet(found.rules, canonicalizer.policy.label), out)
    refused = sum(found.refused.values())
    render.notify(
        f"{found.pairs:,} permanent redirects, {found.other:,} other lines, {refused:,} refused: "
        f"{len(found.rules):,} candidates"
    )
    return 0


def _pairs(files: Sequence[str]) -> Iterator[mine.Pair]:
    """Yield the pairs of files, of each kind by its content; one that breaks off is told."""
    for name in files:
        if name == "-" or not _is_warc(name):
            yield from mine.read(_texts(name))
            continue
        try:
            with Path(name).open("rb") as file:
                yield from mine.read_warc(file)
        except OSError as error:
            render.notify(f"canonry: {name}: breaks off ({error}); what was read before counts")


def _is_warc(name: str) -> bool:
    """Say whether a file is WARC, packed or not."""
    with Path(name).open("rb") as file:
        return decompressed(file).head(_HEAD).startswith(b"WARC/")


def _texts(name: str) -> Iterator[str]:
    """Yield the lines of a file as text; what cannot be read is told."""
    for line in blocks.read_lines([name]):
        if isinstance(line, lines.Cut):
            render.notify(f"canonry: {line}")
        elif line.refused is None:
            yield line.text.decode("utf-8", "replace")


def _write(found: RuleSet, out: str | None) -> None:
    """Write rules to a file or to standard output."""
    text = found.dumps().encode()
    if out is None:
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()
        return
    with output.atomic(out) as file:
        file.write(text)


def _plain(case: Case) -> dict[str, Any]:
    """Return a case as plain data for JSON."""
    rule: LearnedRule = case.rule()
    return {
        "id": case.id,
        "says": rule_store.words(case.lesson),
        **msgspec.to_builtins(rule),
        "trial": {"agree": case.trial_agree, "disagree": case.trial_disagree},
        "reversed": case.reversed,
        "spared": case.spared,
        "entered_at": case.entered_at,
        "verified_at": case.verified_at,
    }

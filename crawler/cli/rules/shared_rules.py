"""Rules that leave a store or come into one: export, import, mine, convert."""

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import msgspec

from canonry.canon import Canonicalizer, RuleSet
from canonry.canon.learned import RULE_STATES
from canonry.crawler import named_policies, opening
from canonry.crawler.cli.described import (
    Described,
    json_option,
    out_option,
    policy_option,
    store_option,
)
from canonry.crawler.cli.terminal import render
from canonry.crawler.cli.terminal.render import print_json
from canonry.crawler.compression import decompressed, naming_file
from canonry.crawler.files import blocks, captures, line_streams, output
from canonry.crawler.files.formats import LINES
from canonry.crawler.learn import mine
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.locations import opened
from canonry.crawler.plurals import counted
from canonry.crawler.rule_lists import Conversion, convert, summary
from canonry.crawler.rule_lists.written import FORMATS, written
from canonry.storage.facts import read_facts, recorded_policy
from canonry.storage.reading import report
from canonry.storage.sql.engine import without_password

_HEAD = 4096


class ImportedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """Rules that were imported."""

    rules: int
    active: int  # of these
    held: int  # queued URLs, as duplicates
    were_withdrawn: int  # rules that were revoked here, and are not any more
    were_active: int  # rules that were active here, and are not any more
    released: int  # held URLs, which went back to the queue


class MinedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """What was learned from an archive or a log."""

    redirects: int  # permanent ones
    pages: int  # captures with status 200
    other_lines: int  # captures with another status, or redirects without a target
    refused: dict[str, int]  # captures with invalid URLs, by reason
    active: int  # rules with enough evidence; with --store none, as a crawl has to confirm them
    candidates: int


class OutcomeJSON(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a rule of a list."""

    name: str  # in the list
    outcome: str  # whole, part or none
    reasons: list[str]  # why not whole


class ConvertedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """What became of lists of rules."""

    formats: list[str]
    rules: int  # in the lists
    converted: int
    in_part: int
    not_converted: int
    made: int  # rules of Canonry
    reasons: dict[str, int]  # rules that were not converted whole, by reason
    outcomes: list[OutcomeJSON]


@click.command(
    "export",
    cls=Described,
    examples=(
        "canonry rules export --store crawl.db -o rules.json",
        "canonry rules export --format clearurls -o clearurls.json",
    ),
)
@store_option
@click.option(
    "--state",
    "states",
    type=click.Choice(RULE_STATES),
    multiple=True,
    default=("active",),
    show_default=True,
    help="Export rules in this state.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["canonry", *FORMATS]),
    default="canonry",
    show_default=True,
    help="For other programs, what they can say; the rest is counted, by family.",
)
@out_option
def export_rules(store: str, states: tuple[str, ...], output_format: str, out: str | None) -> int:
    """Write rules to a file: readable, versioned, and valid for one policy.

    'canonry canon --rules', 'canonry dedup --rules', 'canonry rules import' and
    canonry.Canonicalizer(policy, rules=...) read it. Other formats are for ClearURLs, for nginx,
    and for the normalizer by regular expressions of StormCrawler and Nutch.
    """
    # This refuses to overwrite the store with its own export.
    output.check_distinct([("-o", out)], [opening.file_of_store(store)])
    with report.reading(store) as connection:
        policy = read_facts(connection)["policy"]
        rule_set = RuleSet(rule_store.rules_in(connection, states), policy)
    if output_format == "canonry":
        _write(rule_set.dumps(), out)
        return 0
    text, said, left = written(output_format, (rule.rewrite for rule in rule_set.rules))
    _write(text, out)
    families = ", ".join(f"{number:,} {name}" for name, number in left.most_common())
    render.notify(
        f"{counted(said, 'rule')} written; {left.total():,} cannot be said in this format"
        + (f": {families}" if families else "")
    )
    return 0


@click.command(
    "import",
    cls=Described,
    examples=(
        "canonry rules import rules.json --trial --store crawl.db",
        "canonry rules import rules.json --store new.db",
    ),
)
@click.argument("file")
@store_option
@policy_option("that of the store, else that of the rules")
@click.option("--trial", is_flag=True, help="Make active rules candidates.")
@json_option
def import_rules(file: str, store: str, policy: str | None, *, trial: bool, as_json: bool) -> int:
    """Import rules from a file into a store; active rules apply from then on.

    They replace the state and the evidence of the same rules in the store, also of revoked ones.
    With --trial they are candidates: they hold nothing until their evidence is enough, and a crawl
    has found three of their pages to be the same.

    A store that is not there yet is made, under the policy of the rules, so that a crawl can begin
    with them.
    """
    rule_set = named_policies.read_rules(file)
    is_new = recorded_policy(store) is None
    found_policy = opening.policy_for_rules(store, policy, rule_set)
    with opening.changing_or_making(store, found_policy, render.notify) as (
        connection,
        canonicalizer,
    ):
        before = rule_store.overruled(connection, rule_set.rules, trial=trial)
        applied = rule_store.import_rules(
            connection, rule_set.rules, canonicalizer, time.time(), trial=trial
        )
    active, held, released = 0 if trial else len(rule_set), len(applied.held), len(applied.released)
    if as_json:
        print_json(
            ImportedJSON(
                rules=len(rule_set.rules),
                active=active,
                held=held,
                were_withdrawn=before.withdrawn,
                were_active=before.deactivated,
                released=released,
            )
        )
    if is_new:
        render.notify(
            f"new store {without_password(store)}, under policy {found_policy.versioned_name}"
        )
    phrases = [
        f"{counted(len(rule_set.rules), 'rule')} imported, {active:,} of them active",
        f"{counted(held, 'queued URL')} held as duplicates",
    ]
    if before.withdrawn:
        phrases.append(f"{before.withdrawn:,} had been revoked here")
    if before.deactivated:
        after = "are candidates now" if trial else "are not any more"
        phrases.append(f"{before.deactivated:,} that were active here {after}")
    if released:
        phrases.append(f"{counted(released, 'held URL')} released")
    render.notify("; ".join(phrases))
    return 0


@click.command(
    "mine",
    cls=Described,
    examples=(
        "canonry rules mine redirects.tsv -o rules.json",
        "canonry rules mine archive/*.warc.gz -o rules.json",
        "canonry rules mine index.cdxj --store crawl.db",
    ),
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...|-")
@policy_option("that of the store, else web")
@out_option
@click.option("--store", metavar="FILE|URL", help="Add the candidates to this store.")
@json_option
def mine_rules(
    files: tuple[str, ...], policy: str | None, out: str | None, store: str | None, *, as_json: bool
) -> int:
    """Learn rules from an archive, its index, or a log of redirects.

    FILE is WARC, of which redirects, canonical links and the text of pages count; CDX, CDXJ or a
    columnar index in Parquet, of which redirects and digests count; or it has lines with old URL,
    new URL and status.

    A rule is active if its evidence is enough for a crawl, and twice as much, as nobody can ask
    again; -o writes what dedup --rules takes. A candidate is a rule by which three pages or more
    are the same, and that nothing contradicts. With --store, all of them are added to the store as
    candidates; rules that it has keep their state. They hold nothing until a crawl has found three
    of their pages to be the same.
    """
    store_file = None if store is None else opening.file_of_store(store)
    read = [*files, named_policies.policy_file(policy), store_file]
    output.check_distinct([("-o", out)], read)
    if store is None:
        canonicalizer = named_policies.canonicalizer(policy, None)
    else:  # opened below, it says what there is to say
        found_policy = opening.policy_for(store, policy)
        canonicalizer = Canonicalizer(found_policy)
    mined = mine.mine(_captures(files), canonicalizer)
    if store is not None:
        with opening.changing(store, policy, render.notify) as (connection, canonicalizer):
            mine.put(connection, mined.rules, time.time())
    active = sum(rule.state == "active" for rule in mined.rules) if store is None else 0
    if as_json:
        print_json(
            MinedJSON(
                redirects=mined.redirects,
                pages=mined.pages,
                other_lines=mined.other,
                refused=mined.refused,
                active=active,
                candidates=len(mined.rules) - active,
            )
        )
    if out is not None or not as_json:
        rules = [mine.as_learned(rule) for rule in mined.rules]
        _write(RuleSet(rules, canonicalizer.policy.label).dumps(), out)
    refused = sum(mined.refused.values())
    few = "" if mined.rules else f"; one takes {mine.LEAST} pages of a host that agree, or more"
    render.notify(
        f"{counted(mined.redirects, 'permanent redirect')}, {counted(mined.pages, 'page')}, "
        f"{counted(mined.other, 'other capture')}, {refused:,} refused: "
        f"{counted(active, 'active rule')}, {counted(len(mined.rules) - active, 'candidate')}{few}"
    )
    return 0


@click.command(
    "convert", cls=Described, examples=("canonry rules convert data.min.json -o rules.json",)
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@policy_option("web")
@out_option
@json_option
def convert_rules(
    files: tuple[str, ...], policy: str | None, out: str | None, *, as_json: bool
) -> int:
    """Convert lists of rules that others share, from your own copies, to rules of our families.

    FILE is ClearURLs' data.min.json, or a JSON file of Zyte's duplicate-url-discarder-rules. No
    rule becomes wider than it was. What our families cannot say is left out, and reported with the
    reason and the name of each rule.

    The rules are active: 'canonry rules import --trial' makes them candidates first.
    """
    output.check_distinct([("-o", out)], [*files, named_policies.policy_file(policy)])
    label = named_policies.find_policy(policy or named_policies.DEFAULT_POLICY).label
    conversions = [_converted(file) for file in files]
    rules_by_rewrite = {
        rule.rewrite: rule for conversion in conversions for rule in conversion.rules
    }
    if as_json:
        print_json(ConvertedJSON(**summary(conversions)))
    else:
        _report_lost(conversions)
    if out is not None or not as_json:
        _write(RuleSet(rules_by_rewrite.values(), label).dumps(), out)
    return 0


def _converted(file: str) -> Conversion:
    """Convert a list of rules in a file."""
    with naming_file(file):
        return convert(Path(file).read_bytes(), file)


def _report_lost(conversions: Sequence[Conversion]) -> None:
    """Show what became of lists of rules: for each reason the rules that it kept back."""
    whole = summary(conversions)
    by_reason: dict[str, list[str]] = {}
    for one in (one for conversion in conversions for one in conversion.found):
        for lost in one.lost:
            by_reason.setdefault(lost.value, []).append(one.name)
    for reason, names in sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0])):
        render.notify(f"{counted(len(names), 'rule')}: {reason}")
        for name in names:
            render.notify(f"    {name}")
    render.notify(
        f"{counted(whole['rules'], 'rule')}: {whole['converted']:,} converted, "
        f"{whole['in_part']:,} in part, {whole['not_converted']:,} not; "
        f"{counted(whole['made'], 'rule')} of Canonry"
    )


def _captures(files: Sequence[str]) -> Iterator[captures.Capture]:
    """Yield the captures of files; the format of each is recognized by its content."""
    for name in files:
        head = b"" if name == "-" else _head(name)
        if not head.startswith((b"WARC/", b"PAR1")):
            yield from captures.read(_texts(name))
            continue
        try:
            with opened(name) as file:
                if head.startswith(b"PAR1"):
                    yield from captures.read_index(decompressed(file))
                else:
                    yield from captures.read_warc(file)
        except OSError as error:
            render.notify(f"canonry: {name}: breaks off ({error}); what is before that counts")


def _head(name: str) -> bytes:
    """Return the first bytes of a file, decompressed."""
    with naming_file(name), opened(name) as file:
        return decompressed(file).head(_HEAD)


def _texts(name: str) -> Iterator[str]:
    """Yield the lines of a file as text; notify people of those that cannot be read."""
    for line in blocks.lines_of(blocks.read([name], input_format=LINES)):
        if isinstance(line, line_streams.Cut):
            render.notify(f"canonry: {line}")
        elif line.refused is None:
            yield line.text.decode("utf-8", "replace")


def _write(text: str, out: str | None) -> None:
    """Write rules to a file or to standard output."""
    if out is None:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
        return
    with output.atomic(out) as file:
        file.write(text.encode())

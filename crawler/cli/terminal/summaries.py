"""Print the results of whole commands: what a store holds, a rule, a dedup, a change of policy."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from canonry.canon.policies import versioned_name
from canonry.crawler.batch.summary import NOT_EXAMINED, Summary
from canonry.crawler.cli.terminal import render, url_facts
from canonry.crawler.cli.terminal.loudness import LOUDNESS
from canonry.crawler.cli.terminal.render import hanging, notify, out, table
from canonry.crawler.markup import MOST
from canonry.crawler.plurals import counted, merged_by_rule
from canonry.storage.shown import columns_of
from canonry.storage.timestamps import moment

if TYPE_CHECKING:
    from canonry.crawler.cli.status_json import StatusJSON
    from canonry.crawler.inquiry.rule_facts import RuleReport
    from canonry.storage.copying import Forecast
    from canonry.storage.reading.report import AliasesRow

_NAMED = 6  # counts in a line
_EXAMPLES = 4  # of each kind of evidence
PAIRS = 10  # of the evidence of a rule, of each kind
_DAY = len("2026-11-22")


def status(store_status: "StatusJSON") -> None:
    """Print what a store holds: a line for each kind of fact."""
    console = out()
    if (job := store_status["job"]) is not None:
        began = f"began {moment(job['started_at'])}"
        ended = "" if job["seconds"] is None else f" after {job['seconds']:.1f} s"
        state = job["state"] if (limit := _limit_of(store_status)) is None else limit
        policy = versioned_name(store_status["policy"])
        sentence = f"{job['command']} {state}{ended}, {began}, policy {policy}"
        console.print(f"{escape(hanging(sentence, console))}\n")
    for name, text in _facts(store_status):
        if text:
            url_facts.show(name, text, console)
    console.print()
    from canonry.storage.reading.report import WaitingRow  # noqa: PLC0415 - loads SQLAlchemy
    from canonry.storage.rows.little_new import LittleNew  # noqa: PLC0415 - as above

    if store_status["little_new"]:
        title = "Hosts with little new text (canonry patterns exclude PATTERN)"
        table(title, *_columns(LittleNew, store_status["little_new"]))
    if store_status["waiting"]:
        table("Waiting", *_columns(WaitingRow, store_status["waiting"]))


def _columns(kind: Any, rows: Sequence[Any]) -> tuple[list[str], list[list[str]]]:  # noqa: ANN401 - a class of rows
    """Return the headings and the cells of rows."""
    columns = columns_of(kind)
    return [one.title for one in columns], [[one.cell(row) for one in columns] for row in rows]


def _facts(told: "StatusJSON") -> Iterator[tuple[str, str]]:
    """Yield the facts that a status prints, each with its name; "" is nothing to tell."""
    yield "URLs", numbers(told["urls"])
    yield "status", numbers(told["pages_by_status"], "{1}: {0:,}")
    yield "not read", f"bodies of {numbers(largest(told['unread']))}" if told["unread"] else ""
    if told["due"]:  # 0 after a recrawl by age, which plans nothing, too
        yield "due", f"{counted(told['due'], 'page')} for --recrawl"
    if told["repeated_bodies"]:
        pages = counted(told["repeated_bodies"], "page")
        yield "repeats", f"{pages} with the same body as another page"
    uses = numbers(told["use_reserved"], "{1} of {0:,}")
    yield "reserved", f"{uses} by their sites (canonry export pages --allows)" if uses else ""
    yield "aliases", numbers(by_alias(told["aliases"]))
    yield "held", numbers(largest(told["held"]))
    yield "failed", numbers(largest(told["failed"]))
    yield "not again", f"{kept}; they stay" if (kept := numbers(largest(told["not_again"]))) else ""
    rules = merged_by_rule(told["merged"])
    yield "merged", numbers({row["rules"]: row["links"] for row in rules}, "{0:,} by {1}")
    if rules:
        yield "", f"such as {rules[0]['link']} with {rules[0]['same_as']}"
    refused_links = {row["reason"]: row["links"] for row in told["refused"]}
    yield "links", f"refused: {numbers(refused_links)}" if refused_links else ""
    if refused_links:
        yield "", f"such as {told['refused'][0]['link']}"
    if told["not_pages"]:
        name = "" if refused_links else "links"
        yield name, f"{told['not_pages']:,} to what is no page (javascript:, mailto: and the like)"


def numbers(found: Mapping[str, int], shape: str = "{0:,} {1}", most: int = _NAMED) -> str:
    """Return counts in a line: "12 robots, 3 too-deep, and 2 more"; none that is 0."""
    some = [shape.format(number, name) for name, number in found.items() if number]
    more = [f"and {len(some) - most:,} more"] if len(some) > most + 1 else some[most:]
    return ", ".join([*some[:most], *more])


def largest(found: Mapping[str, int]) -> dict[str, int]:
    """Return counts, the largest first."""
    return dict(Counter(found).most_common())


def by_alias(rows: Sequence["AliasesRow"]) -> dict[str, int]:
    """Return how many aliases there are by kind and HTTP status of a redirect."""
    found = Counter[str]()
    for row in rows:
        found[f"redirect {row['status']}" if row["kind"] == "redirect" else row["kind"]] += row[
            "aliases"
        ]
    return largest(found)


def _limit_of(store_status: "StatusJSON") -> str | None:
    """Return in words where the last crawl stopped before its queue was empty; None if not."""
    job = store_status["job"]
    assert job is not None  # noqa: S101 - the caller has looked
    from canonry.crawler.observe.progress import most_pages  # noqa: PLC0415 - loads SQLAlchemy

    most = most_pages(job)
    urls = store_status["urls"]
    if job["state"] == "finished" and urls["queued"] and 0 < most <= urls["fetched"]:
        return f"stopped at --max-pages {most:,}"
    return None


def rule(found: "RuleReport") -> None:
    """Print all that a store knows of a rule."""
    console, counts = out(), found.evidence
    says = hanging(found.says, console, len(f"{found.id}  {found.state}  "))
    console.print(f"[bold]{found.id}[/]  [bold cyan]{found.state}[/]  {escape(says)}\n")
    since = "" if found.entered_at is None else f" since {moment(found.entered_at)}"
    seen = f"first seen {moment(counts.first_seen)}, last seen {moment(counts.last_seen)}"
    numbers = (
        f"{counted(counts.agree, 'page')} for it, {counts.disagree:,} against; "
        f"{counted(found.suppressed, 'URL')} held because of it, and not fetched; "
        f"{counted(found.tests, 'URL')} fetched to test it"
    )
    sentences = [found.standing, numbers, f"{found.state}{since}; {seen}"]
    if found.state == "revoked":
        sentences.append(
            f"'canonry rules reinstate {found.id} --trial' makes it a candidate; it holds nothing "
            "until its evidence is enough"
        )
    for sentence in sentences:
        console.print(f"  {escape(hanging(sentence, console, 2))}")
    console.print()
    for verdict, title, what in (
        ("same", "Evidence for it", "is the same as"),
        ("different", "Evidence against it", "what it is"),
        ("unknown", "Not known yet", "may be the same as"),
    ):
        shown = [one for one in found.side_by_side if one.pair.verdict == verdict][:_EXAMPLES]
        lines = [
            (
                one.pair.url,
                one.instead or one.pair.found,
                one.pair.source.replace("-", " "),
                moment(one.pair.at)[:_DAY],
            )
            for one in shown
        ]
        table(title, ("URL", what, "by", "on"), lines)
        if more := sum(one.verdict == verdict for one in found.pairs) - len(shown):
            out().print(f"and {more:,} more: --json has all\n")


def dedup(summary: Summary, seconds: float) -> None:
    """Print the summary of a dedup on standard error."""
    rate = summary.lines / max(seconds, 0.001)
    merged_lines = sum(summary.merged.values())
    refused_lines = sum(summary.refused.values())
    notify(
        f"{counted(summary.lines, 'line')} in {seconds:.1f} s ({rate:,.0f}/s): "
        f"{summary.distinct:,} distinct, {summary.exact:,} repeated, "
        f"{f'{summary.seen:,} seen before, ' if summary.seen else ''}"
        f"{merged_lines:,} merged by rules, {refused_lines:,} refused, {summary.blank:,} blank"
    )
    if not LOUDNESS.quiet:
        _dedup_tables(summary)
    for cut in summary.cut:
        notify(f"canonry: {cut}")
    if summary.cut:
        notify("canonry: the output has all that could be read")


def _dedup_tables(summary: Summary) -> None:
    """Print what rules merged, and what is no URL, on standard error."""
    rows = [
        {"rules": m.rules, "links": m.lines, "link": _cut(m.line), "same_as": _cut(m.same_as)}
        for m in summary.merges()
    ]
    if by_rule := merged_by_rule(rows):
        counts = numbers({row["rules"]: row["links"] for row in by_rule}, "{0:,} by {1}")
        notify(f"Merged: {counts}, such as {by_rule[0]['link']} with {by_rule[0]['same_as']}")
    if any(" + " in rules for rules in summary.merged):
        notify("A line that several rules merged counts for each of them.")
    if NOT_EXAMINED in summary.merged:
        notify(
            f"{NOT_EXAMINED}: lines that were merged, but not compared rule by rule, which takes "
            "longer; --map FILE names the rules of each line"
        )
    refused(summary)


def refused(summary: Summary) -> None:
    """Print what is no URL, by reason with an example, on standard error."""
    table(
        "Refused: invalid lines",
        ("reason", "lines", "example"),
        [(r, n, summary.refused_samples[r]) for r, n in summary.refused.items()],
        console=render.err(),
    )


def _cut(example: str) -> str:
    """Return an example for people, who have no use for a megabyte."""
    return f"{example[:MOST]}…" if len(example) > MOST else example


def forecast(old_policy: str, new_policy: str, foreseen: "Forecast") -> None:
    """Show what a change of a store's policy would do."""
    stay = foreseen.urls - foreseen.merged + foreseen.split
    out().print(
        f"{old_policy} -> {new_policy}: {foreseen.urls:,} URLs would be {stay:,}; "
        "nothing was changed"
    )
    own = "targets of redirects and canonical links would be queued as URLs of their own"
    apart = "merged links would be other URLs; they are not known, and queued when found again"
    for number, effect, examples in (
        (foreseen.merged, "URLs would become one with another", foreseen.merged_examples),
        (foreseen.split, own, foreseen.split_examples),
        (foreseen.apart, apart, foreseen.apart_examples),
    ):
        out().print(f"\n{number:,} {effect}")
        for one in examples:
            out().print(escape(f"  {one.url}  =  {one.other}  ({one.rules})"))

"""Print the results of whole commands: what a store holds, a rule, a dedup, a change of policy."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from canonry.canon.policies import versioned_name
from canonry.crawler.batch.summary import NOT_EXAMINED, Summary
from canonry.crawler.cli.terminal import render
from canonry.crawler.cli.terminal.loudness import LOUDNESS
from canonry.crawler.cli.terminal.render import hanging, notify, out, table
from canonry.crawler.markup import MOST
from canonry.crawler.plurals import counted
from canonry.storage.timestamps import moment

if TYPE_CHECKING:
    from canonry.crawler.cli.printed.store_json import StatusJSON
    from canonry.crawler.inquiry.rule_facts import RuleReport
    from canonry.storage.copying import Forecast
    from canonry.storage.reading.report import AliasesRow

PAIRS = 10  # of the evidence of a rule, of each kind
_DAY = len("2026-11-22")


def status(store_status: "StatusJSON") -> None:
    """Print what a store holds."""
    job = store_status["job"]
    if job is not None:
        began = f"began {moment(job['started_at'])}"
        ended = "" if job["seconds"] is None else f" after {job['seconds']:.1f} s"
        state = job["state"] if (limit := _limit_of(store_status)) is None else limit
        policy = versioned_name(store_status["policy"])
        sentence = f"{job['command']} {state}{ended}, {began}, policy {policy}"
        _say(sentence)
    table("URLs", ("state", "count"), [(k, n) for k, n in store_status["urls"].items() if n])
    table("Pages", ("HTTP status", "count"), list(store_status["pages_by_status"].items()))
    if unread := store_status["unread"]:
        pages = counted(sum(unread.values()), "page")
        why = ", ".join(f"{reason} {number:,}" for reason, number in unread.items())
        _say(f"{pages} of these answered, but the body was not read: {why}")
    if store_status["due"]:  # 0 after a recrawl by age, which plans nothing, too
        _say(f"{counted(store_status['due'], 'page')} due for --recrawl")
    if store_status["repeated_bodies"]:
        pages = counted(store_status["repeated_bodies"], "page")
        _say(f"{pages} with the same body as another page (canonry patterns repeats)")
    table(
        "Hosts with little new text (canonry patterns exclude PATTERN)",
        ("host", "new text", "most of it with the pattern", "pages", "new text"),
        [
            (one.host, f"{one.share:.0%}", one.pattern, one.pages, f"{one.pattern_share:.0%}")
            for one in store_status["little_new"]
        ],
    )
    if uses := store_status["use_reserved"]:
        sites = ", ".join(f"{use} of {counted(number, 'page')}" for use, number in uses.items())
        _say(f"Uses that sites reserve (canonry export pages --allows): {sites}")
    aliases("Aliases", store_status["aliases"])
    table("Held", ("reason", "count"), list(store_status["held"].items()))
    table("Failed", ("reason", "count"), list(store_status["failed"].items()))
    not_again = list(store_status["not_again"].items())
    table("Pages that could not be fetched again, and stay", ("reason", "count"), not_again)
    table(
        "Waiting",
        ("host", "until", "because of", "URLs"),
        [
            (w["host"], moment(w["until"]), w["reason"] or "its delay", w["urls"])
            for w in store_status["waiting"]
        ],
    )
    merged(store_status["merged"])
    table(
        "Refused links: invalid, or not followed",
        ("reason", "links", "example"),
        [(r["reason"], r["links"], r["link"]) for r in store_status["refused"]],
    )
    if store_status["not_pages"]:
        links = counted(store_status["not_pages"], "link")
        _say(f"{links} to what is no page (javascript:, mailto: and the like)")


def _say(sentence: str) -> None:
    """Print a sentence, and a blank line."""
    console = out()
    console.print(f"{escape(hanging(sentence, console))}\n")


def aliases(title: str, rows: Sequence["AliasesRow"]) -> None:
    """Print how many aliases there are by kind and HTTP status, which rules have none of."""
    lines = [(row["kind"], str(row["status"] or ""), row["aliases"]) for row in rows]
    table(title, ("kind", "HTTP status", "count"), lines)


def _limit_of(store_status: "StatusJSON") -> str | None:
    """Return in words where the last crawl stopped before its queue was empty; None if not."""
    job = store_status["job"]
    assert job is not None  # noqa: S101 - the caller has looked
    most = job["settings"].get("settings", {}).get("crawl", {}).get("max_pages", 0)
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
        shown = [one for one in found.side_by_side if one.pair.verdict == verdict]
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


def merged(rows: Sequence[Mapping[str, Any]], console: Console | None = None) -> None:
    """Print how many links each rule merged, with an example."""
    table(
        "Merged, by rule",
        ("rule", "links", "link", "is the same as"),
        [(row["rules"], row["links"], row["link"], row["same_as"]) for row in merged_by_rule(rows)],
        console=console,
    )


def merged_by_rule(merged: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return how many links each single rule merged, the largest count first.

    Args:
        merged: as `report.status` returns it: each row has the rules that merged
            its links, joined by " + ". A link that needed several rules counts for each of them.

    Returns:
        Rows of the same shape, with one rule each. The example is one that needed few rules.
    """
    links: Counter[str] = Counter()
    example: dict[str, Mapping[str, Any]] = {}
    for row in sorted(merged, key=lambda row: row["rules"].count("+")):
        for rule in row["rules"].split(" + "):
            links[rule] += row["links"]
            example.setdefault(rule, row)
    return [{**example[rule], "rules": rule, "links": n} for rule, n in links.most_common()]


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
    merged(
        [
            {"rules": m.rules, "links": m.lines, "link": _cut(m.line), "same_as": _cut(m.same_as)}
            for m in summary.merges()
        ],
        console=render.err(),
    )
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

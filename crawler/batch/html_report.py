"""The report of a dedup: one self-contained HTML page, which can be mailed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from html import escape
from typing import NamedTuple

from canonry import __version__
from canonry.canon import Policy, Reason
from canonry.canon.pipeline import RULES
from canonry.crawler import markup
from canonry.crawler.batch.summary import NOT_EXAMINED, Deduplicated, Summary
from canonry.crawler.files.line_streams import LONGEST
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.markup import visible

_SHOWN = 20  # most hosts and kinds of merges in a table
_NAMED = 3  # most files in the title
_PARTS = ("distinct", "repeated as spelled", "merged by rules", "no URL", "blank", "seen before")
# The page loads and runs nothing, whatever the input.
_SAFE = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
REASONS = {
    **{reason.label: reason.value for reason in HoldReason},
    **{reason.name.lower(): reason.value for reason in Reason},
    HoldReason.TOO_LONG.label: f"it is longer than {LONGEST >> 20} MiB",
}


_NUMERIC = ' class="n"'
_STYLE = """
header { display: block; padding-top: 1.5rem; }
h2 { margin: 2rem 0 .3rem; } p { margin: .3rem 0; } td p { margin: 0; }
mark { background: var(--mark); color: inherit; font-weight: 600; }
th.n, td.n { padding-right: 1rem; width: 1%; } td b { white-space: nowrap; }
td b:target { background: var(--mark); }
.bar { display: block; width: 100%; height: 2.5rem; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none; padding: 0; }
.legend i { display: inline-block; width: .8em; height: .8em; }
.part-1 { fill: var(--c1); background: var(--c1); }
.part-2 { fill: var(--c2); background: var(--c2); }
.part-3 { fill: var(--c3); background: var(--c3); }
.part-4 { fill: var(--c4); background: var(--c4); }
.part-5 { fill: var(--c5); background: var(--c5); }
.part-6 { fill: var(--warn); background: var(--warn); }
@media print { section { break-inside: avoid; } }
"""


class About(NamedTuple):
    """What was deduplicated, under which policy, when, and how long it took."""

    files: Sequence[str]  # "-" is standard input
    policy: Policy
    at: datetime  # when it began
    seconds: float


def page(done: Deduplicated, about: About) -> str:
    """Return the page of a finished job, with ``report`` in its plan."""
    summary = done.summary
    title = visible(_title(about.files))
    sheet = markup.sheet() + _STYLE
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_SAFE}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>Dedup of {escape(title)}</title><style>{sheet}</style></head><body>",
            f"<header><h1>Dedup of {markup.text(title)}</h1>",
            f'<p class="faint">{_made(about)}</p></header><main>',
            f"<p>{_counts(summary, about.seconds)}</p>",
            *_bar(summary),
            *_merges(summary),
            *_rules(summary),
            *_table(
                "The resources with the most lines",
                ("lines", "first of them"),
                [(n, markup.url(text)) for n, text in done.largest],
            ),
            *_table(
                "Hosts",
                ("lines", "host"),
                [(n, markup.url(host)) for host, n in Counter(done.hosts).most_common(_SHOWN)],
            ),
            *_table(
                "Lines that are not URLs",
                ("lines", "reason, and the first of these lines"),
                _refused(summary),
            ),
            *_table(
                "What could not be read", ("source",), [(markup.url(text),) for text in summary.cut]
            ),
            "</main></body></html>\n",
        ]
    )


def _title(files: Sequence[str]) -> str:
    """Return the names of the first files, and how many more there are."""
    names = ["standard input" if file == "-" else file for file in files]
    more = len(names) - _NAMED
    if more > 0:
        names[_NAMED:] = [f"{more:,} other{'s' * (more > 1)}"]
    return ", ".join(names)


def _made(about: About) -> str:
    """Return when the page was made, and with which policy and version."""
    when = f"{about.at:%Y-%m-%d %H:%M}".replace("-", "\N{NON-BREAKING HYPHEN}")
    at = f'<time datetime="{about.at.isoformat(timespec="seconds")}">{when} {about.at:%Z}</time>'
    policy = markup.text(about.policy.versioned_name)
    return f"{at}, policy <code>{policy}</code>, Canonry {__version__}"


def _counts(summary: Summary, seconds: float) -> str:
    """Return a sentence with the most important counts."""
    rate = summary.lines / max(seconds, 0.001)
    return (
        f"{summary.lines:,} lines in {seconds:,.1f} seconds ({rate:,.0f} a second), "
        f"<b>{summary.distinct:,} distinct resources</b>."
    )


def _bar(summary: Summary) -> Iterator[str]:
    """Yield a bar of the kinds of lines, with a legend."""
    merged, refused = sum(summary.merged.values()), sum(summary.refused.values())
    counts = (summary.distinct, summary.exact, merged, refused, summary.blank, summary.seen)
    whole = max(sum(counts), 1)
    yield '<svg class="bar" viewBox="0 0 1000 40" preserveAspectRatio="none" aria-hidden="true">'
    left = 0.0
    for number, count in enumerate(counts, 1):
        width = 1000 * count / whole
        yield f'<rect class="part-{number}" x="{left:.2f}" width="{width:.2f}" height="40"/>'
        left += width
    yield '</svg><ul class="legend">'
    for number, (name, count) in enumerate(zip(_PARTS, counts, strict=True), 1):
        if count:
            percent = f"{100 * count / whole:.2f}"
            share = f" ({percent} %)" if percent != "0.00" else ""
            yield f'<li><i class="part-{number}"></i> {name}: {count:,}{share}</li>'
    yield "</ul>"


def _merges(summary: Summary) -> Iterator[str]:
    """Yield the table of merges by rules, each with a sample."""
    found = summary.merges()
    rows = [
        (one.lines, _linked(one.rules) + markup.pair(one.line, one.same_as))
        for one in found[:_SHOWN]
    ]
    if rest := found[_SHOWN:]:
        lines = sum(one.lines for one in rest)
        rows.append((lines, f"by {len(rest):,} other combinations of rules"))
    yield from _table("Merged, by rules", ("lines", "rules, and the first of these lines"), rows)


def _linked(rules: str) -> str:
    """Return the names of rules, each a link to what it does."""
    names = [
        f'<a href="#{escape(name)}">{escape(name)}</a>' if name in RULES else escape(name)
        for name in rules.split(" + ")
    ]
    return f'<p class="rules">{" + ".join(names)}</p>'


def _rules(summary: Summary) -> Iterator[str]:
    """Yield a table of the rules that merged lines: what each does, and its source."""
    lines = dict.fromkeys(RULES, 0)
    for rules, count in summary.merged.items():
        for name in lines.keys() & set(rules.split(" + ")):
            lines[name] += count
    rows = []
    for name, rule in RULES.items():
        if count := lines[name]:
            cited = () if rule.cites.startswith("docs/") else (rule.cites,)
            heuristic = () if rule.lossless else ("a heuristic, which the policy asks for",)
            basis = escape("; ".join([*cited, *heuristic]))
            says = f'{escape(rule.why)} <span class="faint">({basis})</span>'
            rows.append((count, f'<b id="{name}">{name}</b>: {says}'))
    yield from _table("What these rules do", ("lines", "rule"), rows)
    if NOT_EXAMINED in summary.merged:
        yield (
            "<p>Of unusual lines, the rules are found out for the first 200,000; "
            "with --map, for all.</p>"
        )


def _refused(summary: Summary) -> list[tuple[int, str]]:
    """Return the rows of the lines that are no URL."""
    return [
        (
            count,
            f"<p><b>{escape(reason)}</b>: {escape(REASONS.get(reason, ''))}</p>"
            + markup.url(summary.refused_samples[reason]),
        )
        for reason, count in sorted(summary.refused.items(), key=lambda item: -item[1])
    ]


def _table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[int | str]]
) -> Iterable[str]:
    """Yield a table of counts and markup, or nothing if it has no rows."""
    if not rows:
        return
    yield f"<section><h2>{title}</h2><table><thead><tr>"
    for name in columns:
        yield f'<th scope="col"{_NUMERIC if name == "lines" else ""}>{name}</th>'
    yield "</tr></thead><tbody>"
    for row in rows:
        cells = (
            f"<td{_NUMERIC}>{value:,}</td>" if isinstance(value, int) else f"<td>{value}</td>"
            for value in row
        )
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></section>"

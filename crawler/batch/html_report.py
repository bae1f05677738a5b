"""The report of a dedup: one self-contained HTML page, which can be mailed."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from html import escape

from canonry import __version__
from canonry.canon import Policy, Reason
from canonry.canon.pipeline import RULES
from canonry.crawler import markup
from canonry.crawler.batch.summary import NOT_EXAMINED, Summary
from canonry.crawler.files.line_streams import LONGEST
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.markup import visible

_SHOWN = 20  # most kinds of merges in the table
REASONS = {
    **{reason.label: reason.value for reason in HoldReason},
    **{reason.name.lower(): reason.value for reason in Reason},
    HoldReason.TOO_LONG.label: f"it is longer than {LONGEST >> 20} MiB",
}
# The page loads and runs nothing, whatever the input.
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Dedup of {title}</title><style>{sheet}
header {{ display: block; padding-top: 1.5rem; }}
h2 {{ margin: 2rem 0 .3rem; }} p {{ margin: .3rem 0; }} td p {{ margin: 0; }}
mark, td b:target {{ background: var(--mark); color: inherit; }}
th.n, td.n {{ padding-right: 1rem; width: 1%; }} td b {{ white-space: nowrap; }}
</style></head><body>
<header><h1>Dedup of {heading}</h1>
<p class="faint"><time datetime="{iso}">{at:%Y\u2011%m\u2011%d %H:%M %Z}</time>, \
policy <code>{policy}</code>, Canonry {version}</p></header><main>
<p>{lines:,} lines in {seconds:,.1f} seconds, <b>{distinct:,} distinct resources</b>.</p>
{tables}
</main></body></html>
"""


def page(
    summary: Summary, files: Sequence[str], policy: Policy, at: datetime, seconds: float
) -> str:
    """Return the page about a finished job.

    Args:
        summary: its counts.
        files: that it has read; ``-`` is standard input.
        policy: under which URLs were compared.
        at: when it began.
        seconds: how long it took.
    """
    names = ["standard input" if file == "-" else file for file in files]
    title = visible(names[0] + (f" and {len(names) - 1:,} more" if len(names) > 1 else ""))
    return _PAGE.format(
        title=escape(title),
        heading=markup.text(title),
        sheet=markup.sheet(),
        iso=at.isoformat(timespec="seconds"),
        at=at,
        policy=markup.text(policy.versioned_name),
        version=__version__,
        lines=summary.lines,
        seconds=seconds,
        distinct=summary.distinct,
        tables="\n".join(_tables(summary)),
    )


def _tables(summary: Summary) -> Iterator[str]:
    """Yield the tables of a page."""
    merges = summary.merges()
    counts = {
        "distinct": summary.distinct,
        "repeated as spelled": summary.exact,
        "merged by rules": sum(one.lines for one in merges),
        "no URL": sum(summary.refused.values()),
        "blank": summary.blank,
        "seen before": summary.seen,
    }
    yield _table("Lines", "kind", [(count, name) for name, count in counts.items() if count])
    shown = [(one.lines, _linked(one.rules, one.line, one.same_as)) for one in merges[:_SHOWN]]
    if rest := merges[_SHOWN:]:
        more = f"by {len(rest):,} other combinations of rules"
        shown.append((sum(one.lines for one in rest), more))
    yield _table("Merged, by rules", "rules, and the first of these lines", shown)
    acted = [
        (sum(one.lines for one in merges if name in one.rules.split(" + ")), name) for name in RULES
    ]
    yield _table("What these rules do", "rule", [(n, _says(name)) for n, name in acted if n])
    if NOT_EXAMINED in summary.merged:
        yield (
            "<p>Of unusual lines, the rules are found out for the first 200,000; "
            "with --map, for all.</p>"
        )
    refused = sorted(summary.refused.items(), key=lambda item: -item[1])
    rows = [
        (
            count,
            f"<p><b>{escape(reason)}</b>: {escape(REASONS.get(reason, ''))}</p>"
            + markup.url(summary.refused_samples[reason]),
        )
        for reason, count in refused
    ]
    yield _table("Lines that are not URLs", "reason, and the first of these lines", rows)
    for text in summary.cut:
        yield f"<p>Not read to its end: {markup.url(text)}</p>"


def _linked(rules: str, line: str, same_as: str) -> str:
    """Return the names of rules, each a link to what it does, and two lines that they merged."""
    names = [
        f'<a href="#{escape(name)}">{escape(name)}</a>' if name in RULES else escape(name)
        for name in rules.split(" + ")
    ]
    return f'<p class="rules">{" + ".join(names)}</p>' + markup.pair(line, same_as)


def _says(name: str) -> str:
    """Return what a rule does, and its source."""
    rule = RULES[name]
    cited = () if rule.cites.startswith("docs/") else (rule.cites,)
    heuristic = () if rule.lossless else ("a heuristic, which the policy asks for",)
    basis = escape("; ".join([*cited, *heuristic]))
    return f'<b id="{name}">{name}</b>: {escape(rule.why)} <span class="faint">({basis})</span>'


def _table(title: str, column: str, rows: Sequence[tuple[int, str]]) -> str:
    """Return a table of counts and markup; nothing if it has no rows."""
    if not rows:
        return ""
    cells = "".join(f'<tr><td class="n">{n:,}</td><td>{text}</td></tr>' for n, text in rows)
    return (
        f'<section><h2>{title}</h2><table><thead><tr><th scope="col" class="n">lines</th>'
        f'<th scope="col">{column}</th></tr></thead><tbody>{cells}</tbody></table></section>'
    )

"""The report of a dedup: one self-contained page of HTML, as for a mail."""

from collections.abc import Iterable, Sequence
from html import escape

from canonry.crawler.batch.second_pass import Deduplicated
from canonry.crawler.batch.summary import Summary

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.2rem .6rem .2rem 0;vertical-align:top;border-bottom:1px solid #eee}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td{word-break:break-all}code{font-size:.85em}
.legend span{margin-right:1.2rem}.legend i{display:inline-block;width:.8em;height:.8em}
"""
_COLOURS = ("#2a7", "#9bd", "#e93", "#c44", "#bbb")
_SHOWN = 20


def page(done: Deduplicated, title: str, seconds: float) -> str:
    """Return the page of a finished job.

    Args:
        done: what the job found, with ``report`` in its plan.
        title: what was deduplicated.
        seconds: how long that took.
    """
    summary = done.summary
    merged = sum(summary.merged.values())
    refused = sum(summary.refused.values())
    parts = (
        ("distinct", summary.distinct),
        ("repeated as spelled", summary.exact),
        ("merged by rules", merged),
        ("no URL", refused),
        ("blank", summary.blank),
    )
    rate = summary.lines / max(seconds, 0.001)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><meta charset="utf-8">',
            f"<title>{escape(title)}: dedup</title><style>{_STYLE}</style>",
            f"<h1>{escape(title)}</h1>",
            f"<p>{summary.lines:,} lines in {seconds:,.1f} seconds ({rate:,.0f} a second),",
            f"{summary.distinct:,} distinct resources.</p>",
            _bar(parts),
            *_merges(summary),
            *_table(
                "The resources with the most lines",
                ("lines", "first of them"),
                [(n, text) for n, text in sorted(done.largest, reverse=True)],
            ),
            *_table(
                "Hosts", ("lines", "host"), [(n, h) for h, n in done.hosts.most_common(_SHOWN)]
            ),
            *_table(
                "Lines that are no URL",
                ("lines", "reason", "for example"),
                [(n, r, summary.refused_samples[r]) for r, n in summary.refused.items()],
            ),
            *_table("What broke off", ("",), [(text,) for text in summary.cut]),
            "</html>\n",
        ]
    )


def _merges(summary: Summary) -> Iterable[str]:
    """Yield the table of merges by rules, each with a sample."""
    rows = sorted(summary.merged.items(), key=lambda item: -item[1])
    return _table(
        "Merged, by rules",
        ("lines", "rules", "line", "is the same as"),
        [(n, rules, *summary.merged_samples[rules]) for rules, n in rows],
    )


def _bar(parts: Sequence[tuple[str, int]]) -> str:
    """Return a bar of the parts of a whole, with a legend."""
    whole = max(sum(count for _name, count in parts), 1)
    shapes, legend, left = [], [], 0.0
    for colour, (name, count) in zip(_COLOURS, parts, strict=True):
        width = 1000 * count / whole
        shapes.append(
            f'<rect x="{left:.2f}" y="0" width="{width:.2f}" height="40" fill="{colour}">'
            f"<title>{name}: {count:,}</title></rect>"
        )
        share = f"{count:,} ({100 * count / whole:.2f} %)"
        legend.append(f'<span><i style="background:{colour}"></i> {name}: {share}</span>')
        left += width
    picture = "".join(shapes)
    return (
        f'<svg viewBox="0 0 1000 40" width="100%" height="40" role="img">{picture}</svg>'
        f'<p class="legend">{"".join(legend)}</p>'
    )


def _table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[int | str]]
) -> Iterable[str]:
    """Yield a table, or nothing if it has no rows."""
    if not rows:
        return
    yield f"<h2>{title}</h2><table><tr>"
    yield "".join(f"<th{' class=n' if c == 'lines' else ''}>{c}</th>" for c in columns) + "</tr>"
    for row in rows:
        cells = (
            f"<td class=n>{value:,}</td>"
            if isinstance(value, int)
            else f"<td><code>{escape(value)}</code></td>"
            for value in row
        )
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</table>"

"""Dedup by its plain definition, in memory: what the engines are compared with."""

import io
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import canonry
from canonry.canon.pipeline import merging_rules
from canonry.canon.syntax import to_text
from canonry.crawler.batch import results
from canonry.crawler.batch.summary import Answer, Summary
from canonry.crawler.files import tables
from canonry.crawler.files.line_streams import Line


def deduplicate(
    lines: Sequence[bytes],
    make: canonry.Canonicalizer,
    seen: AbstractSet[bytes] = frozenset(),
    source: object = "-",
) -> tuple[bytes, bytes, Summary]:
    """Return the lines that are kept, the map, and the counts.

    Args:
        lines: of the input.
        make: makes the keys.
        seen: keys of resources that were seen before.
        source: the name of the input.
    """
    summary, answers = Summary(lines=len(lines)), []
    first: dict[bytes, str] = {}
    for number, (text, found) in enumerate(zip(lines, make.many(lines), strict=True), 1):
        line = Line(str(source), number, text)
        if not text.strip():
            summary.blank += 1
            continue
        if isinstance(found, canonry.Refused):
            answer = Answer(line, None, "", found.reason.name.lower())
        elif found.key in seen:
            answer = Answer(line, None, "", seen=True)
        elif found.key in first:
            same_as = first[found.key]
            answer = Answer(line, same_as, merging_rules(make, to_text(text), same_as))
        else:
            first[found.key] = to_text(text)
            answer = Answer(line, None, "")
        summary.add(answer)
        answers.append(answer)
    kept = [
        answer.line.text + b"\n"
        for answer in answers
        if answer.same_as is None and answer.refused is None and not answer.seen
    ]
    mapped = io.BytesIO()
    results.Results(mapped=tables.table(mapped, "text", results.MAP_COLUMNS)).map(
        map(results.map_row, answers)
    )
    return b"".join(kept), mapped.getvalue(), summary

"""The page of rules: made from the tables of repairs, steps and families."""

from typing import TYPE_CHECKING

from generators.table_cells import code

from canonry.canon.learned import FAMILIES
from canonry.canon.policies import preset, preset_names
from canonry.canon.rules.repair import REPAIRS, RESOLVE, URL_STANDARD
from canonry.canon.rules.table import DIALECTS as LADDERS
from canonry.canon.rules.table import STEPS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from canonry.canon.rules.rule import Rule


def rules_page() -> str:
    """Return the page of rules, from the tables of rules."""
    lines = [
        "# The rules",
        "",
        "`make docs` makes this page from `canon/rules/repair.py` and `canon/rules/table.py`.",
        "",
        "Rules make the identity, which is compared. No rule changes the URL that is requested.",
        "The specifications guarantee *lossless* rules, and these always run, but for those that",
        "only [some dialects](#lossless-rules-of-some-dialects) have. Rules of the rung `practice`",
        "are heuristics, and a policy chooses among them; those of `protocol` are learned.",
        "",
        "## Repairs, as browsers make them",
        "",
        "Under policies with the dialect `whatwg`, the URL Standard's parser makes all of them in",
        "one pass.",
        "",
        *_table([*REPAIRS, RESOLVE, URL_STANDARD]),
        "",
        "## The steps, in the order in which they run",
        "",
        *_table(STEPS),
        "",
        "## Lossless rules of some dialects",
        "",
        "The dialect of a policy names the document that it follows. These rules belong to some of",
        "them only ([policies](policies.md)).",
        "",
        *(
            f"- `{step.name}`: {', '.join(ladder for ladder in LADDERS if ladder in step.dialects)}"
            for step in STEPS
            if len(step.dialects) < len(LADDERS)
        ),
        "",
        "## The heuristics of each policy",
        "",
        *(_heuristics_of(name) for name in preset_names()),
    ]
    lines += [
        "",
        "## Learned rules",
        "",
        "The families of learned rules, from `canon/learned/families.py`. They run after the",
        "steps, in this order (RFC 3986, 6.2.4). A rule holds for one host, or for a part of it:",
        "see [learning](../explanation/learning.md).",
        "",
        "| rule | example | why |",
        "|---|---|---|",
        *(f"| `{rule.name}` | {_example(rule)} | {rule.why} |" for rule in FAMILIES.values()),
    ]
    return "\n".join(lines) + "\n"


def _heuristics_of(name: str) -> str:
    """Return the heuristics of a preset, as an item of a list."""
    heuristics = [step.name for step in STEPS if step.name in preset(name).practice]
    return f"- `{name}`: {', '.join(f'`{heuristic}`' for heuristic in heuristics) or 'none'}"


def _example(rule: "Rule") -> str:
    """Return what a rule does to its example."""
    return f"{code(rule.before)} → {code(rule.after)}"


def _table(rules: "Iterable[Rule]") -> list[str]:
    """Return a table of rules."""
    lines = ["| rule | rung | example | why | source |", "|---|---|---|---|---|"]
    for rule in rules:
        rung = rule.rung.name.lower()
        page = f"../{rule.cites.removeprefix('docs/')}"
        cites = (
            f"[decision]({page})"
            if rule.cites.endswith(".md")
            else rule.cites.replace(" section ", ", ")
        )
        lines.append(f"| `{rule.name}` | {rung} | {_example(rule)} | {rule.why} | {cites} |")
    return lines

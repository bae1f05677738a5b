"""The judge of Canonry's own decisions: which URLs its store merged, by which rules."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from support.simweb.websites import Site

from canonry.canon.learned import Rewrite, act, describe
from canonry.canon.syntax import Parts
from canonry.crawler.hold_reason import HoldReason
from canonry.storage.learned import rule_rows
from canonry.storage.reading import report
from canonry.storage.sql.schema import State, hosts, url_rows

_BECAME_ACTIVE = re.compile(r"rule ([0-9a-f]{10}) is active ")


@dataclass
class Decisions:
    """What Canonry decided about one site."""

    site: Site
    merged: int = 0  # URLs held because of rules
    wrong: list[tuple[str, str]] = field(default_factory=list)  # those, with what represents them
    rules: list[str] = field(default_factory=list)  # that ever were active
    active: int = 0  # of these, at the end
    untrue: list[str] = field(
        default_factory=list
    )  # of these, rules that merge different resources


def decisions(
    given: Iterable[Site], store: str, notices: Iterable[str], turns: Mapping[str, int]
) -> list[Decisions]:
    """Return what was decided about each site.

    Args:
        given: the sites.
        store: the URL of the store.
        notices: sentences of the crawl, which tell of each rule that became active.
        turns: by a site's home, the number of its requests: what its URLs mean at the end.
    """
    found = {site.home: Decisions(site) for site in given}
    by_host = {host: one for one in found.values() for host in one.site.hosts}
    with report.reading(store) as connection:
        held = {
            row["url"]: row["representative"]
            for row in report.rows(connection, "aliases")
            if row["kind"] == "rule"
        }
        rules = {rule.id: rule for rule in rule_rows.in_states(connection)}
    for url, one in held.items():
        decided = by_host[url.split("/")[2]]
        turn = turns.get(decided.site.home, 0)
        decided.merged += 1
        if decided.site.truth(url, turn) != decided.site.truth(one, turn):
            decided.wrong.append((url, one))
    active = {rule.id for rule in rules.values() if rule.state == "active"}
    told = {name for notice in notices for name in _BECAME_ACTIVE.findall(notice)}
    for rule in (rules[name] for name in sorted(told | active) if name in rules):
        for decided in _about(by_host, rule.rewrite):
            decided.rules.append(describe(rule.rewrite))
            decided.active += rule.id in active
            turn = turns.get(decided.site.home, 0)
            if not _is_true(decided.site, rule.rewrite, turn):
                decided.untrue.append(describe(rule.rewrite))
    return list(found.values())


def limited_hosts(store: str) -> list[str]:
    """Return the hosts of which a crawl held URLs since it had asked as many as it may."""
    held = url_rows.c.state == State.HELD, url_rows.c.reason == HoldReason.HOST_BUDGET.label
    with report.reading(store) as connection:
        found = select(hosts.c.name).join(url_rows).where(*held).distinct()
        return sorted(connection.scalars(found))


def _about(by_host: dict[str, Decisions], rewrite: Rewrite) -> Iterator[Decisions]:
    """Yield the site that a rule is about: one, as sites have domains of their own."""
    for host, decided in by_host.items():
        if host == rewrite.host or (rewrite.subdomains and host.endswith(f".{rewrite.host}")):
            yield decided
            return


def _is_true(site: Site, rewrite: Rewrite, turn: int) -> bool:
    """Return True if a rule changes no URL of a site into another resource's."""
    for url in site.names:
        parts = Parts.of(url)
        after = act(rewrite, parts)
        if after is not parts and site.truth(url, turn) != site.truth(str(after), turn):
            return False
    return True


def table(given: Iterable[Decisions]) -> Iterator[str]:
    """Yield the lines of a table: sums for honest sites and adversaries, and all that is wrong."""
    rows = list(given)
    for honest in (True, False):
        chosen = [row for row in rows if row.site.honest is honest]
        sums = totals(chosen)
        yield (
            f"{'honest sites' if honest else 'adversaries':14}{sums['merged']:>9,} merged, "
            f"{sums['wrong']:,} wrongly; {sums['rules']:,} rules were active, "
            f"{sums['active']:,} at the end, {sums['untrue']:,} of them not quite true"
        )
        for row in chosen:
            if row.wrong or (row.untrue and not honest):
                how = "dynamic" if row.site.frame.dynamic else "static"
                said = "; ".join((f"{len(row.wrong):,} wrong", *row.untrue))
                yield f"  {row.site.kind}, {how}: {said}"


def totals(given: Iterable[Decisions]) -> dict[str, Any]:
    """Return the sums of some sites."""
    rows = list(given)
    return {
        "merged": sum(row.merged for row in rows),
        "wrong": sum(len(row.wrong) for row in rows),
        "rules": sum(len(row.rules) for row in rows),
        "active": sum(row.active for row in rows),
        "untrue": sum(len(row.untrue) for row in rows),
    }

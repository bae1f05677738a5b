"""What an operator wants to know first: what is held, which hosts need a look, what was learned."""

import msgspec
from sqlalchemy import Connection

from canonry.canon.learned import describe
from canonry.crawler.inquiry import remedies
from canonry.crawler.inquiry.rule_facts import StateCount, state_counts
from canonry.crawler.web.panel import Asked
from canonry.storage.learned import rule_rows
from canonry.storage.rows import little_new, waiting
from canonry.storage.steering import host_list, releases
from canonry.storage.timestamps import Moment, iso

_ROWS = 5  # of each list
_WAITING = 3  # of these, at least if so many hosts wait


class HeldFor(msgspec.Struct, frozen=True, kw_only=True):
    """A reason for which URLs are held or have failed."""

    state: str  # held or failed
    reason: str  # as the store has it
    sentence: str | None  # the reason in words
    urls: int


class HostInTrouble(msgspec.Struct, frozen=True, kw_only=True):
    """A host that waits for longer than its delay, or has failed."""

    host: str
    waits_until: Moment | None  # null: it does not wait
    failed_at: Moment | None  # null: it waits
    reason: str | None  # of the retry, or of the failure; null: the host asked for a pause
    is_blocked: bool


class PoorHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host whose pages bring little new text; shares are from 0 to 1."""

    host: str
    share: float  # of the text of its latest pages that was new
    pattern: str  # of most of its latest pages that bring little; "": none stands out
    pages: int  # of the latest 200, with this pattern
    pattern_share: float  # of their text that was new


class ActiveRule(msgspec.Struct, frozen=True, kw_only=True):
    """A learned rule that acts."""

    id: str
    says: str
    suppressed: int  # about how many URLs it held, which were not fetched


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The first five of each list."""

    held: list[HeldFor]  # the most frequent reasons
    more_reasons: int
    hosts: list[HostInTrouble]  # those that wait longest, and those that failed last
    little_new: list[PoorHost]  # hosts that were found last to bring little new text
    rules: list[ActiveRule]  # those that suppressed most
    active: StateCount  # how many there are


def view(connection: Connection, asked: Asked) -> Overview:
    """Return what is held, which hosts need a look, and what was learned."""
    refusals = releases.refusals(connection)
    counted = {count.state: count for count in state_counts(connection)}
    return Overview(
        held=[
            HeldFor(
                state=refusal.state,
                reason=refusal.reason,
                sentence=remedies.sentence(refusal.reason),
                urls=number,
            )
            for refusal, number in refusals[:_ROWS]
        ],
        more_reasons=len(refusals[_ROWS:]),
        hosts=_hosts(connection, asked.now),
        little_new=[PoorHost(**one._asdict()) for one in little_new.read(connection, _ROWS)],
        rules=[
            ActiveRule(id=rule.id, says=describe(rule.rewrite), suppressed=rule.suppressed)
            for rule in rule_rows.most_useful(connection, "active", _ROWS)
        ],
        active=counted["active"],
    )


def _hosts(connection: Connection, now: float) -> list[HostInTrouble]:
    """Return hosts that wait and hosts that failed, each once."""
    waits = [
        HostInTrouble(
            host=one.host,
            waits_until=iso(one.until),
            failed_at=None,
            reason=one.reason,
            is_blocked=False,
        )
        for one in waiting.waiting_hosts(connection, now)
    ]
    failed = [
        HostInTrouble(
            host=row.name,
            waits_until=None,
            failed_at=iso(row.error_at),
            reason=row.error,
            is_blocked=bool(row.blocked),
        )
        for row in host_list.hosts_in(connection, order="error", most=_ROWS)[0]
    ]
    first: dict[str, HostInTrouble] = {}
    for one in (*waits[:_WAITING], *failed, *waits[_WAITING:]):
        first.setdefault(one.host, one)
    return list(first.values())[:_ROWS]

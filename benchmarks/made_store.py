"""A store of many URLs for benchmarks, written in bulk by the store's own code."""

import hashlib
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, insert, update
from store import COLUMNS

from canonry.canon import Canonicalizer
from canonry.canon.learned import Rewrite
from canonry.canon.policies import preset
from canonry.crawler.admission import url_filter
from canonry.crawler.run.job.preparation import as_job
from canonry.crawler.settings import load
from canonry.storage import State, Store
from canonry.storage.learned import rule_rows
from canonry.storage.learned.ledger import DIFFERENT, OWN_WORD, SAME, StoredPair, put_pairs
from canonry.storage.learned.rule_rows import TrackedRule
from canonry.storage.rows import pages as page_rows
from canonry.storage.rows.urls import host_ids
from canonry.storage.sql import counts, schema, transitions
from canonry.storage.sql.bulk import insert_rows, join, next_id
from canonry.storage.sql.transitions import QUEUED, Transition
from canonry.storage.sql.url_suffixes import suffix_of

_BATCH = 250_000  # URLs in one transaction
_NOW = float(int(time.time()))
# Of a hundred URLs. A crawl that has run for days looks like this: its queue is its larger half.
_STATES = {
    State.QUEUED: 45,
    State.FETCHED: 38,
    State.HELD: 10,
    State.REDIRECTED: 4,
    State.FAILED: 3,
}
_REASONS: dict[State, dict[str, int]] = {
    State.HELD: {
        "out-of-scope": 33,
        "learned": 20,
        "pattern-budget": 18,
        "robots": 15,
        "too-deep": 6,
        "excluded": 3,
        "host-budget": 2,
        "repeating-path": 1,
        "other-type": 1,
        "too-long": 1,
    },
    State.FAILED: {
        "server": 30,
        "timeout": 25,
        "dns": 15,
        "connect": 12,
        "robots-unreachable": 8,
        "tls": 5,
        "too-large": 3,
        "body": 2,
    },
}
_TEMPLATES = (
    "/news/{}.html",
    "/product/{}/",
    "/product/{}/reviews",
    "/forum/thread-{}/",
    "/calendar/{}/01/",
    "/search?page={}",
    "/user/{}",
    "/tag/a-word-{}/feed/",
    "/docs/guide/chapter-{}.html",
    "/images/gallery/{}/large",
)
_WORDS = ("red", "river", "garden", "engine", "letter", "window", "summer", "paper", "stone")
_RULES = 5_000
_ROBOTS = "User-agent: *\nDisallow: /private/\nDisallow: /cart\nAllow: /private/open\n" * 4
_SETTINGS = load(None, {})


class _Drawn(NamedTuple):
    """What was drawn for the URLs of a batch."""

    first: int  # the number of the first one
    hosts: list[int]  # from 0
    templates: list[int]
    states: list[int]
    reasons: list[str | None]


def host_name(number: int) -> str:
    """Return the name of a host, from 0."""
    return f"www.host{number}.example"


def url_of(host: int, template: int, number: int) -> str:
    """Return a URL in canonical form."""
    return f"https://{host_name(host)}{_TEMPLATES[template].format(number)}"


def make(url: str, number: int, hosts: int = 50_000) -> None:
    """Make a store; progress goes to stderr.

    Args:
        url: of an empty database.
        number: of URLs.
        hosts: number of hosts; the largest has a twelfth of all URLs, the smallest a few.
    """
    policy = preset("web")
    store = Store(url, policy=policy.label, fingerprint=policy.fingerprint)
    canonicalizer = Canonicalizer(policy)
    weights = 1.0 / np.arange(1, hosts + 1)
    weights /= weights.sum()
    rng = np.random.default_rng(1)
    tallied: Counter[tuple[int, int]] = Counter()
    with store.transaction() as connection:
        names = [host_name(n) for n in range(hosts)]
        host_ids(connection, names)
        rules = _put_rules(connection)
    begun = time.perf_counter()
    for first in range(0, number, _BATCH):
        drawn = _draw(rng, weights, first, min(_BATCH, number - first))
        with store.transaction() as connection:
            _put_urls(connection, store, canonicalizer, drawn, rules)
        tallied.update(
            (host, template)
            for host, template, state in zip(
                drawn.hosts, drawn.templates, drawn.states, strict=True
            )
            if state != State.HELD
        )
        done = first + len(drawn.hosts)
        rate = done / (time.perf_counter() - begun)
        print(f"{done:,} URLs, {rate:,.0f} a second", file=sys.stderr, flush=True)
    with store.transaction() as connection:
        _put_budgets(connection, tallied)
        _put_hosts(connection, rng, hosts)
        _put_tallies(connection)
        job = as_job(["https://www.host0.example/"], (), _SETTINGS)
        rows = [
            {
                "command": "crawl",
                "settings": job,
                "state": "interrupted",
                "started_at": _NOW - day * 86_400,
                "ended_at": _NOW - day * 86_400 + 80_000,
            }
            for day in range(5, 0, -1)
        ]
        connection.execute(insert(schema.jobs), rows)
    store.close()


def _draw(
    rng: np.random.Generator, weights: "np.ndarray[Any, Any]", first: int, number: int
) -> _Drawn:
    """Draw the host, the shape and the state of each URL of a batch."""
    states = rng.choice(list(map(int, _STATES)), number, p=np.array([*_STATES.values()]) / 100)
    reasons: list[str | None] = [None] * number
    for state, shares in _REASONS.items():
        where = np.flatnonzero(states == state)
        picked = rng.choice(list(shares), len(where), p=np.array([*shares.values()]) / 100)
        for at, reason in zip(where.tolist(), picked.tolist(), strict=True):
            reasons[at] = reason
    hosts = rng.choice(len(weights), number, p=weights)
    templates = rng.integers(0, len(_TEMPLATES), number)
    return _Drawn(first, hosts.tolist(), templates.tolist(), states.tolist(), reasons)


def _put_urls(
    connection: Connection,
    store: Store,
    canonicalizer: Canonicalizer,
    drawn: _Drawn,
    rules: Sequence[TrackedRule],
) -> None:
    """Write the URLs of a batch, with their keys, pages and aliases."""
    texts = [
        url_of(host, template, drawn.first + n)
        for n, (host, template) in enumerate(zip(drawn.hosts, drawn.templates, strict=True))
    ]
    keys = [found.key for found in canonicalizer.many(texts)]  # type: ignore[union-attr]
    first = next_id(connection, schema.url_rows)
    claims = store.seen.claim(connection, keys)
    if not all(claim.new for claim in claims):
        raise AssertionError("two URLs of the made store have one key")
    rows, moves = [], Counter[Transition]()
    for n, (text, host, state, reason) in enumerate(
        zip(texts, drawn.hosts, drawn.states, drawn.reasons, strict=True)
    ):
        depth = 1 + (n % 97) ** 2 % 13
        due = 0.0 if state == State.QUEUED else _NOW - (n % 400_000)
        source = None if drawn.first + n == 0 else 1 + (drawn.first + n) // 20
        # Host ids count up from 1 in the order of their numbers.
        row = (first + n, text, None, host + 1, state, reason, depth, 0, source, 0, 0, due)
        rows.append((*row, _NOW - 500_000))
        after = QUEUED if state == State.QUEUED else (State(state), reason)
        moves[Transition(host + 1, depth, None, after)] += 1
    kept = [(row[0], suffix_of(row[1], host_name(row[3] - 1)), *row[2:]) for row in rows]
    insert_rows(connection, schema.url_rows, COLUMNS, kept)
    transitions.count(connection, moves)
    _put_pages(connection, rows)
    _put_aliases(connection, rows, rules)


def _put_pages(connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    """Write the pages of the URLs that were fetched; one of 50 has the body of another."""
    made, changes = [], Counter[counts.Counted]()
    for row in rows:
        number = row[0]
        if row[4] != State.FETCHED:
            continue
        status = 404 if number % 13 == 0 else 410 if number % 501 == 0 else 200
        body = number if number % 50 else number - 1
        digest = hashlib.blake2b(b"%d" % body, digest_size=16).digest()
        words = [_WORDS[number // step % len(_WORDS)] for step in (1, 9, 81)]
        title = f"The {words[0]} {words[1]} and the {words[2]}, part {number}"
        changes[counts.page(status)] += 1
        made.append(
            (
                *(number, status, row[11], 0.12, "text/html; charset=utf-8"),
                *(20_000 + number % 50_000, digest, title, None, 40, "utf-8", None, None),
            )
        )
    names = ("url_id", "status", "fetched_at", "elapsed", "content_type", "size", "digest")
    names += ("title", "canonical", "links", "charset", "etag", "modified")
    insert_rows(connection, schema.pages, names, made)
    changes[counts.REPEATED] += len(made) // 50
    counts.add(connection, changes)


def _put_aliases(
    connection: Connection, rows: Sequence[tuple[Any, ...]], rules: Sequence[TrackedRule]
) -> None:
    """Write where redirects lead, which URLs rules hold, and some canonical links."""
    made, changes = [], Counter[counts.Counted]()
    suppressed: Counter[str] = Counter()
    for before, row in pairwise(rows):
        if row[4] == State.REDIRECTED:
            kind, status = "redirect", (301, 302, 308)[row[0] % 3]
        elif row[5] == "learned":
            kind, status = "rule", 0
            suppressed[rules[row[0] % len(rules)].id] += 1
        elif row[4] == State.FETCHED and row[0] % 19 == 0:
            kind, status = "canonical", 200
        else:
            continue
        changes[counts.alias(kind, status)] += 1
        made.append((row[0], before[0], kind, status, before[1], row[11], row[11], 1))
    names = ("from_id", "to_id", "kind", "status", "target_url", "first_seen", "last_seen", "count")
    insert_rows(connection, schema.aliases, names, made)
    counts.add(connection, changes)
    rule_rows.add_suppressed(connection, suppressed)


def _put_rules(connection: Connection) -> list[TrackedRule]:
    """Write learned rules in all states, each with its evidence."""
    made = []
    pairs: list[StoredPair] = []
    for n in range(_RULES):
        host = f"www.host{n * 7 % 50_000}.example"
        family = "parameter-irrelevant" if n % 2 else "trailing-slash"
        rewrite = Rewrite(host, family, old=f"ref{n}" if n % 2 else "", new="" if n % 2 else "bare")
        state = ("active", "active", "candidate", "candidate", "suspended", "revoked")[n % 6]
        rule = TrackedRule(
            rewrite,
            state,  # type: ignore[arg-type]
            agree=5 + n % 60,
            disagree=n % 3,
            confirmed=n % 5,
            first_seen=_NOW - 400_000,
            last_seen=_NOW - n,
            entered_at=_NOW - 2 * n,
        )
        made.append(rule)
        for k in range(5 + (state in {"suspended", "revoked"})):
            url = f"https://{host}/page/{k}"
            verdict = SAME if k < 4 else DIFFERENT
            pairs.append(StoredPair(rule.id, url, f"{url}/", url, verdict, OWN_WORD, 1, _NOW - n))
    rule_rows.put(connection, made)
    put_pairs(connection, pairs)
    return made


def _put_budgets(connection: Connection, tallied: Counter[tuple[int, int]]) -> None:
    """Write what was spent of the budgets of all patterns."""
    spent: Counter[tuple[bytes, str]] = Counter()
    for (host, template), number in tallied.items():
        for budget in url_filter.budgets_of(url_of(host, template, 1), _SETTINGS.traps):
            spent[budget.key, budget.pattern] += number
    rows = [
        {"key": key, "pattern": pattern, "count": number}
        for (key, pattern), number in sorted(spent.items())
    ]
    join(connection, schema.budgets, rows)


def _put_hosts(connection: Connection, rng: np.random.Generator, hosts: int) -> None:
    """Write the pace of hosts: some asked for a delay, some back off; and their robots.txt."""
    delays = rng.choice([0, 1, 5, 10, 30], hosts, p=[0.8, 0.1, 0.05, 0.04, 0.01]).tolist()
    waits = rng.choice([0, 60, 600, 3_600], hosts, p=[0.9, 0.05, 0.03, 0.02]).tolist()
    rows = [
        {"id": n + 1, "delay": float(delay) or None, "ready": _NOW + wait if wait else 0.0}
        for n, (delay, wait) in enumerate(zip(delays, waits, strict=True))
    ]
    table = schema.hosts
    for part in _parts(rows):
        connection.exec_driver_sql(
            "UPDATE hosts SET delay = ?, ready_at = ? WHERE id = ?"
            if connection.dialect.name == "sqlite"
            else "UPDATE hosts SET delay = %s, ready_at = %s WHERE id = %s",
            [(one["delay"], one["ready"], one["id"]) for one in part],
        )
    connection.execute(
        update(table)
        .where(table.c.id % 1_000 == 7)
        .values(holder="other.example:1:abc", held_until=_NOW + 60)
    )
    kept = [
        (
            f"https://{host_name(n)}",
            None if n % 40 == 0 else _ROBOTS if n % 3 else "",
            _NOW + 40_000,
            _NOW - 7_200 if n % 40 == 0 else None,
        )
        for n in range(hosts)
    ]
    names = ("origin", "rules", "expires_at", "unreachable_since")
    insert_rows(connection, schema.robots, names, kept)
    query = (
        "UPDATE url_rows SET reason = 'timeout', attempts = 1, due = {} WHERE state = 0 AND id IN "
    )
    retried = [int(url_id) for url_id in rng.integers(1, 100_000, 5_000)]
    for part in _parts(retried, 500):
        connection.exec_driver_sql(query.format(_NOW + 900) + f"({', '.join(map(str, part))})")


def _put_tallies(connection: Connection) -> None:
    """Write which rules merged links, and which links were refused."""
    merged, refused = page_rows.Tally(), page_rows.Tally()
    steps = ("lower-case host", "default port", "dot segments", "fragment", "tracking parameters")
    steps += ("percent-encoding", "empty query")
    for n, one in enumerate(steps):
        for m, other in enumerate(steps[n:], n):
            name = one if m == n else f"{one} + {other}"
            pair = ("HTTPS://WWW.host1.example:443/a/../b#x", "https://www.host1.example/b")
            merged.add(name, *pair, count=(m + 1) * 90_001 // (n + 2))
    for n, reason in enumerate(("not-a-page", "bad host", "bad port", "empty", "too long")):
        refused.add(reason, f"https://exa mple{n}/", count=(n + 1) * 10_007)
    page_rows.put_merges(connection, merged)
    page_rows.put_refusals(connection, refused)


def _parts(values: Sequence[Any], size: int = 10_000) -> Iterator[Sequence[Any]]:
    """Yield the values in parts."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


def main() -> None:
    """Make a store: its file, and how many URLs."""
    target, number = sys.argv[1], int(sys.argv[2])
    if Path(target).exists():
        raise SystemExit(f"{target} is there already")
    make(target, number)


if __name__ == "__main__":
    main()

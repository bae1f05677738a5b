"""Crawl the demo site under some policies, and compare the result with the truth."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from canonry.canon.policies import versioned_name
from canonry.crawler import named_policies
from canonry.crawler.demo.server import Served, serving
from canonry.crawler.demo.site import SEED, build
from canonry.crawler.run import wiring
from canonry.crawler.settings import load
from canonry.storage.reading import report
from canonry.storage.reading.report import AliasesRow, MergedRow, StoreStatus

# Deep enough for the whole site; it ends the endless calendar.
MAX_DEPTH = 12

# What a request for a page that was fetched before contains, and the rule that would suppress it.
_AGAIN = (
    ("PHPSESSID", "session-id"),
    ("index.html", "index-file"),
    ("//", "duplicate-slashes"),
    ("size=", "sorted-query"),
)


_MOST_REPEATED = 24  # by learning and in search of walls, on all hosts of the site


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a crawl of the demo site, compared with the truth."""

    policy: str
    resources: int  # on the site
    fetched: int  # of these
    missed: list[str]
    fetched_again: int
    again_for_want_of: dict[str, int]  # by the rule that would have suppressed the request
    repeated: int  # requests for a URL that was requested before: to learn what changes by itself
    disallowed: int  # requests that robots.txt disallows
    endless: int  # pages of crawler traps that were fetched
    requests: int
    seconds: float
    links: int
    merged: list[MergedRow]
    aliases: list[AliasesRow]
    is_right: bool  # none missed, none disallowed, none twice for which the policy has a rule


class DemoResults(msgspec.Struct, frozen=True, kw_only=True):
    """What the demo has found, under each policy."""

    crawls: list[Result]


def _ignore(_message: str) -> None:
    """Drop a message for people."""


def run(
    policies: Sequence[str], notify: Callable[[str], None] = _ignore, keep: Path | None = None
) -> list[Result]:
    """Crawl the site once under each policy, each time into a new store.

    Args:
        policies: names of presets, or TOML files.
        notify: receives sentences for people.
        keep: a folder for the stores, where those of an earlier demo are replaced; None deletes
            them afterwards.

    Raises:
        PolicyError: if there is no such policy.
        OSError: if the folder cannot be written.
    """
    return [asyncio.run(_run(policy, notify, keep)) for policy in policies]


def kept_store(keep: Path, policy: str) -> Path:
    """Return the file of the store that a demo under a policy keeps in a folder."""
    name = (
        versioned_name(policy) if named_policies.policy_file(policy) is None else Path(policy).stem
    )
    return keep / f"canonry-demo-{name}.db"


def _emptied(file: Path) -> Path:
    """Delete the store of an earlier demo, and return its file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    for end in ("", "-wal", "-shm"):
        file.with_name(f"{file.name}{end}").unlink(missing_ok=True)
    return file


async def _run(policy: str, notify: Callable[[str], None], keep: Path | None) -> Result:
    """Serve the site, crawl it as the command would, and compare."""
    with tempfile.TemporaryDirectory(prefix="canonry-demo-") as folder:
        file = Path(folder, "demo.db") if keep is None else _emptied(kept_store(keep, policy))
        store = f"sqlite:///{file}"
        async with serving(build()) as served:
            flags = {
                "crawl": {
                    "delay": 0.0,
                    "scope": "domain",
                    "max_depth": MAX_DEPTH,
                    "policy": policy,
                },
                "fetch": {"connect_to": [f"::127.0.0.1:{served.port}"], "retries": 0},
            }
            result = await wiring.crawl([SEED], store, load(None, flags), notify=notify)
        with report.reading(store) as connection:
            return _compare(policy, served, result, report.status(connection))


def _compare(
    policy: str, served: Served, result: wiring.CrawlResult, store_status: StoreStatus
) -> Result:
    """Compare what was fetched with what is on the site."""
    expected = served.site.expected
    again = Counter(
        rule for resource in expected for rule in _wanting(served.pages.get(resource, []))
    )
    repeated = sum(len(targets) - len(set(targets)) for targets in served.pages.values())
    missed = [r.url for r in expected if r not in served.pages]
    rules = named_policies.find_policy(policy).practice
    return Result(
        policy=policy,
        resources=len(expected),
        fetched=len(expected) - len(missed),
        missed=missed,
        fetched_again=again.total(),
        again_for_want_of=dict(again.most_common()),
        repeated=repeated,
        disallowed=served.refused,
        endless=served.endless,
        requests=served.requests,
        seconds=round(result.seconds, 3),
        links=result.progress.links,
        merged=store_status["merged"],
        aliases=store_status["aliases"],
        is_right=not missed
        and not served.refused
        and not again.keys() & {*rules, "unknown"}
        and repeated <= _MOST_REPEATED,
    )


def _wanting(targets: Sequence[str]) -> list[str]:
    """Return, for each URL after the first, the rule that would have suppressed its request."""
    different = dict.fromkeys(targets)
    rules = [next((rule for sign, rule in _AGAIN if sign in t), "unknown") for t in different]
    if rules:
        rules.remove("unknown" if "unknown" in rules else rules[0])  # the first request was needed
    return rules

"""The actions of viewers of the live page, on the queue, hosts, patterns and learned rules."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from sqlalchemy import Connection

from canonry.canon import Canonicalizer, RulesError
from canonry.canon.learned import describe
from canonry.crawler import opening
from canonry.crawler.admission import exclusions
from canonry.crawler.inquiry import pattern_listing, refusal_listing
from canonry.crawler.inquiry.last_crawl import last_crawl, policy_of
from canonry.crawler.inquiry.rule_facts import standing_in
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.plurals import counted
from canonry.crawler.settings import SettingsError
from canonry.crawler.web.panel import BadQuestionError
from canonry.storage import StoreError
from canonry.storage.learned.tracked_rule import TrackedRule
from canonry.storage.reading import report
from canonry.storage.steering import blocked_hosts, excluded_patterns, host_list, releases
from canonry.storage.steering.short_steps import ShortSteps

_PATIENCE = 2.0  # seconds that a viewer waits; a longer change continues in the background


def release(store: str, fields: Mapping[str, str], _now: float) -> str:
    """Queue the URLs of a reason again; the form has ``state``, ``reason`` and ``host``."""
    reason, host = fields.get("reason", ""), fields.get("host", "").strip() or None
    try:
        wanted = refusal_listing.to_release(fields.get("state", ""), reason)
    except SettingsError as error:
        raise BadQuestionError(str(error)) from None
    with report.reading(store) as connection:
        keeps = exclusions.keeps(connection)
        if host is not None:
            _check(host_list.host_named(connection, host) is not None, host)
    done = _soon(store, lambda opened: releases.release(opened, wanted, host=host, keeps=keeps))
    return _said(done, f"{reason}: {{}} went back to the queue", f"{reason}: URLs are released")


def block(store: str, fields: Mapping[str, str], _now: float) -> str:
    """Block a host, so that it gets no more requests; the form has ``host``."""
    host = _known_host(store, fields)
    done = _soon(store, lambda opened: blocked_hosts.block(opened, host))
    return _said(done, f"{host} is blocked: {{}} held", f"{host} is blocked; its URLs are held")


def unblock(store: str, fields: Mapping[str, str], _now: float) -> str:
    """Undo a block; the form has ``host``."""
    host = _known_host(store, fields)
    done = _soon(store, lambda opened: blocked_hosts.unblock(opened, host))
    said = f"{host} is not blocked"
    return _said(done, f"{said}: {{}} went back to the queue", f"{said}; its URLs are released")


def exclude(store: str, fields: Mapping[str, str], _now: float) -> str:
    """Hold the URLs with a pattern; the form has ``pattern``."""
    pattern = _pattern(fields)
    done = _soon(store, lambda opened: excluded_patterns.exclude(opened, pattern))
    said = f"{pattern.text} is excluded"
    return _said(done, f"{said}: {{}} held", f"{said}; its queued URLs are held")


def include(store: str, fields: Mapping[str, str], _now: float) -> str:
    """Undo an exclusion; the form has ``pattern``."""
    pattern = _pattern(fields)
    done = _soon(store, lambda opened: excluded_patterns.include(opened, pattern))
    said = f"{pattern.text} is not excluded"
    return _said(done, f"{said}: {{}} went back to the queue", f"{said}; its URLs are released")


def _soon(store: str, change: Callable[[ShortSteps], int]) -> int | None:
    """Make a change in steps, on a thread; return None if that takes longer than viewers wait.

    The change then continues. If the server ends before it is done, a crawl or a repeated action
    does the rest.
    """
    done: list[int] = []
    failed: list[Exception] = []

    def steps() -> None:
        try:
            with ShortSteps(store) as opened:
                done.append(change(opened))
        except Exception as error:  # noqa: BLE001 - it is raised below
            failed.append(error)

    thread = threading.Thread(target=steps, name="canonry-steps", daemon=True)
    thread.start()
    thread.join(_PATIENCE)
    if failed:
        raise failed[0]
    return done[0] if done else None


def _said(done: int | None, whole: str, begun: str) -> str:
    """Return a sentence about a change that is done or still running."""
    if done is None:
        return f"{begun}; there are many: this goes on for a while."
    return whole.format(f"{done:,} URL{'' if done == 1 else 's'}") + "."


def _known_host(store: str, fields: Mapping[str, str]) -> str:
    """Return the host that a form names.

    Raises:
        BadQuestionError: if the store does not know it.
    """
    host = fields.get("host", "").strip()
    with report.reading(store) as connection:
        _check(host_list.host_named(connection, host) is not None, host)
    return host


def _check(is_known: bool, host: str) -> None:  # noqa: FBT001 - private
    if not is_known:
        raise BadQuestionError(f"host {host!r}: the store knows no such host")


def _pattern(fields: Mapping[str, str]) -> excluded_patterns.URLPattern:
    """Return the pattern that a form names.

    Raises:
        BadQuestionError: if it is none.
    """
    try:
        return pattern_listing.pattern_named(fields.get("pattern", "").strip())
    except SettingsError as error:
        raise BadQuestionError(str(error)) from None


def revoke(store: str, fields: Mapping[str, str], now: float) -> str:
    """Revoke a rule and queue the URLs that it held; the form has ``id``."""
    with _changing(store) as (connection, canonicalizer):
        rule = _find(connection, fields)
        if rule.state == "revoked":
            raise BadQuestionError(f"rule {rule.id} is revoked already")
        done = rule_store.revoke(connection, rule, canonicalizer, now)
    return (
        f"Rule {rule.id} is revoked: {describe(rule.rewrite)}; "
        f"{counted(len(done.released), 'URL')} went back to the queue."
    )


def reinstate(store: str, fields: Mapping[str, str], now: float) -> str:
    """Reinstate a rule, as a candidate if ``trial`` is not empty; the form has ``id`` and it."""
    with _changing(store) as (connection, canonicalizer):
        rule = _find(connection, fields)
        try:
            done = rule_store.reinstate(
                connection, rule, canonicalizer, now, trial=bool(fields.get("trial"))
            )
        except (StoreError, RulesError) as error:
            raise BadQuestionError(str(error)) from None
        standing = standing_in(connection, rule).sentence
    return (
        f"Rule {rule.id} is reinstated: {describe(rule.rewrite)}; "
        f"{counted(len(done.held), 'queued URL')} held as duplicates. {standing}."
    )


def _find(connection: Connection, fields: Mapping[str, str]) -> TrackedRule:
    try:
        return rule_store.find(connection, fields.get("id", "").strip())
    except StoreError as error:
        raise BadQuestionError(str(error)) from None


@contextmanager
def _changing(store: str) -> Iterator[tuple[Connection, Canonicalizer]]:
    """Open a store to change its rules, under the policy that it was made with."""
    with report.reading(store) as connection:
        policy = policy_of(connection, last_crawl(connection))
    with opening.changing_under(store, policy) as changing:
        yield changing

"""The comparison of bodies: do URLs answer alike where rules say that they are the same?

Pure: no clock, no store. A body is compared with those of the URLs that rules make of its URL, and
of those that they make it from, fetched earlier or later. Equal bodies also propose new rules.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from canonry.canon.learned import site_in, site_of
from canonry.canon.syntax import Parts
from canonry.crawler.learn.evidence.host_memory import HostMemory, Memory
from canonry.crawler.learn.evidence.infer import scoped_between
from canonry.crawler.learn.life.lifecycle import IN_FORCE
from canonry.storage.learned.tracked_rule import TrackedRule


class Answered(NamedTuple):
    """An answer of status 200."""

    url: str  # its identity
    digest: bytes  # of the decoded body
    at: float
    hsts: bool = False  # it came with Strict-Transport-Security over https


class BodyArchive(Protocol):
    """Knows bodies for longer than the memory does."""

    def body_of(self, identity: str) -> tuple[str, bytes] | None:
        """Return the identity of the URL fetched for an identity, and its body's digest."""
        ...

    def body_by_rules(self, identity: str) -> tuple[str, bytes] | None:
        """Return the same for the URL that was fetched instead, because rules said so."""
        ...


class _Body(NamedTuple):
    """A body that is compared with others."""

    parts: Parts  # of its URL
    url: str
    digest: bytes
    at: float
    telling: bool  # an equal body is evidence

    def agrees_with(self, other: bytes) -> bool | None:
        """Return True if another body is the same, None if that is no evidence."""
        same = other == self.digest
        return None if same and not self.telling else same


class BodyComparison:
    """Compares bodies, and counts the evidence in the learner's memory."""

    def __init__(self, memory: Memory, archive: BodyArchive) -> None:
        """Start with what is remembered.

        Args:
            memory: has the rules and the recent bodies, and counts evidence.
            archive: knows bodies that were fetched earlier.
        """
        self._memory = memory
        self._archive = archive

    def observe(self, news: Answered) -> None:
        """Compare a body with those of the URLs that rules say are the same."""
        parts = Parts.of(news.url)
        host = self._memory.host(site_of(parts))
        equal = host.add_equal(news.url, news.digest)
        telling = host.is_telling(news.digest, equal)
        body = _Body(parts, news.url, news.digest, news.at, telling)
        for rule, after in list(self._memory.predictions(parts)):
            result = str(after)
            helping: list[TrackedRule] = []
            if len(host.rules) > 1 and result not in host.bodies:
                result, helping = host.combine(rule, after)
            self._compare_result(rule, body, result, helping)
        self._compare_sources(host, body)
        if host.has_rules_in_force():
            self._compare_fetched_instead(body)
        host.add_body(news.url, news.digest)
        if telling:
            for other in equal:
                self._propose(Parts.of(other), body)

    def _compare_result(
        self, rule: TrackedRule, body: _Body, result: str, helping: Iterable[TrackedRule]
    ) -> None:
        """Compare a body with that of the URL that a rule, with others, makes of its URL."""
        host = self._memory.host(site_of(body.parts))
        other = self._memory.host(site_in(result)).bodies.get(result)
        named = result
        if other is None:
            named, other = host.source(rule.rewrite, result) or (result, None)
        if other is None and rule.state in IN_FORCE:
            named, other = self._archive.body_of(result) or (result, None)
        if other is None:
            host.add_source(rule.rewrite, result, body.url, body.digest)
            if rule.moved:  # a redirect was predicted, and the URL answered by itself
                pair = (body.url, body.url)
                self._memory.count(rule, body.parts, pair, body.at, agrees=False)
            return
        agrees = body.agrees_with(other)
        if agrees is not None:
            for counted in (rule, *helping):
                self._memory.count(counted, body.parts, (body.url, named), body.at, agrees=agrees)

    def _compare_sources(self, host: HostMemory, body: _Body) -> None:
        """Compare a body with those of earlier URLs of which rules make its URL."""
        for rewrite, sources in host.sources.items():
            rule = host.rules.get(rewrite)
            found = sources.pop(body.url, None)
            if rule is None or found is None:
                continue
            named, other = found
            agrees = body.agrees_with(other)
            if agrees is not None:
                self._memory.count(rule, body.parts, (named, body.url), body.at, agrees=agrees)

    def _compare_fetched_instead(self, body: _Body) -> None:
        """Compare a body with that of the URL that was fetched instead, because of rules."""
        named, other = self._archive.body_by_rules(body.url) or (body.url, body.digest)
        agrees = body.agrees_with(other)
        if named == body.url or agrees is None:
            return
        for rule, _after in list(self._memory.predictions(Parts.of(named))):
            if rule.state in IN_FORCE:
                self._memory.count(rule, body.parts, (named, body.url), body.at, agrees=agrees)

    def _propose(self, one: Parts, body: _Body) -> None:
        """Add candidates that would explain why two URLs answer with the same body."""
        for scoped in scoped_between(one, body.parts):
            if scoped not in self._memory.host(scoped.host).rules:
                rule = self._memory.rule(scoped)
                pair = (str(one), str(body.parts))
                self._memory.count(rule, body.parts, pair, body.at, agrees=True)

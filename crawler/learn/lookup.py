"""Answers from a store: what a URL is by all that was learned, URL by URL and host by host."""

import time
from collections.abc import Iterable, Iterator

from sqlalchemy import Connection

from canonry.canon import Canonical, Canonicalizer, Change, InvalidURL, Policy, Refused, Rung, Trace
from canonry.canon.syntax import to_text
from canonry.crawler.learn.rule_store import active_in
from canonry.storage.learned.equivalences import Class, Equivalences, Step
from canonry.storage.sql.bulk import rows_of

_WHY = {
    "redirect": "It redirects there for good (HTTP status {status}).",
    "canonical": "Its page names that one as canonical, which names itself or nothing.",
    "rule": "A learned rule says so, and it was not fetched.",
}


class Answers:
    """Canonical forms by a policy, a store's rules, and what its URLs led to."""

    def __init__(self, connection: Connection, policy: Policy) -> None:
        """Load the store's rules.

        Args:
            connection: to a store whose keys were made under the policy.
            policy: that policy.
        """
        self._connection = connection
        self._taught = Canonicalizer(policy, active_in(connection, policy))
        self._plain = Canonicalizer(policy)
        self._known = Equivalences(connection)

    def canonical(self, url: str | bytes, base: str | None = None) -> Canonical | Refused:
        """Return what a URL comes to; a bad one is told, not raised."""
        try:
            plain = self._plain(url, base)
        except InvalidURL as error:
            return Refused(error.text, error.reason, error.position)
        identity = self._end(plain)[0]
        return Canonical(plain.url, identity, self._plain.key_of(identity))

    def many(
        self, urls: Iterable[str | bytes], base: str | None = None
    ) -> Iterator[Canonical | Refused]:
        """Yield the canonical form of each URL, or why it has none."""
        return (self.canonical(url, base) for url in urls)

    def explain(self, url: str | bytes, base: str | None = None) -> Trace:
        """Return which rule did what, and what was seen of the URL.

        Raises:
            InvalidURL: when it is no URL.
        """
        plain = self._plain.explain(url, base)
        found = Canonical(plain.url, plain.identity, plain.key)
        identity, seen = self._end(found)
        by_rules = self._taught.explain(url, base)
        if seen is None or by_rules.identity == identity:  # rules name what they rest on
            return by_rules
        steps = list(plain.steps)
        before = plain.identity
        for step in seen.steps:  # told from identity to identity, as all steps are
            after = self._plain.identity(step.to)
            steps.append(_change(step, before, after))
            before = after
        steps += self._taught.follow(before).trace()
        return Trace(
            text=to_text(url),
            policy=plain.policy,
            url=plain.url,
            identity=identity,
            key=self._plain.key_of(identity),
            steps=tuple(steps),
        )

    def _end(self, plain: Canonical) -> tuple[str, Class | None]:
        """Return the identity that a URL comes to, and the way that its row showed, if any."""
        ruled = self._taught.follow(plain.identity).identity
        for key in dict.fromkeys((plain.key, self._plain.key_of(ruled))):
            question = "SELECT url_id FROM keys WHERE key"
            for (row,) in rows_of(self._connection, question, [key]):
                found = self._known.representative(row)
                if found.steps:
                    end = self._plain.identity(found.url)
                    return self._taught.follow(end).identity, found if key == plain.key else None
        return ruled, None


def _change(step: Step, before: str, after: str) -> Change:
    """Tell a step as a change."""
    day = time.strftime("%Y-%m-%d", time.gmtime(step.last_seen))
    why = _WHY[step.kind].format(status=step.status)
    often = "once" if step.times == 1 else f"{step.times:,} times"
    return Change(
        name=f"alias-{step.kind}",
        before=before,
        after=after,
        rung=Rung.PROTOCOL,
        cites="RFC 3986 section 6.2.4",
        lossless=False,
        why=f"{why} Seen {often}, last on {day}.",
    )

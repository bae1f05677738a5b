"""Look up the canonical forms of URLs in a store, by its learned rules and aliases."""

import time
from collections.abc import Iterable, Iterator

from sqlalchemy import Connection

from canonry.canon import Canonical, Canonicalizer, Change, InvalidURL, Policy, Refused, Rung, Trace
from canonry.canon.syntax import to_text
from canonry.crawler.learn.rules.rule_store import active_in
from canonry.storage.clusters.equivalences import Alias, EquivalenceClass, Equivalences
from canonry.storage.seen.key_rows import url_ids_of_keys

_REASONS = {
    "redirect": "It redirects there for good (HTTP status {status}).",
    "canonical": "Its page names that one as canonical, which names itself or nothing.",
    "rule": "A learned rule says so, and it was not fetched.",
    "content": "Both pages have the same body, and are on one host.",
}


class Lookup:
    """Canonical forms by a policy, a store's learned rules, and the aliases of its URLs."""

    def __init__(self, connection: Connection, policy: Policy) -> None:
        """Load the store's rules.

        Args:
            connection: to a store whose keys were made under the policy.
            policy: the policy.
        """
        self.policy = policy
        self._connection = connection
        self._learned = Canonicalizer(policy, active_in(connection, policy))
        self._plain = Canonicalizer(policy)
        self._equivalences = Equivalences(connection)

    def canonical(self, url: str | bytes, base: str | None = None) -> Canonical | Refused:
        """Return the canonical form of a URL; a bad URL is returned as refused, not raised."""
        try:
            plain = self._plain(url, base)
        except InvalidURL as error:
            return Refused(error.text, error.reason, error.position)
        identity = self._end(plain)[0]
        return Canonical(plain.url, identity, self._plain.key_of(identity))

    def many(
        self, urls: Iterable[str | bytes], base: str | None = None
    ) -> Iterator[Canonical | Refused]:
        """Yield the canonical form of each URL, or the reason why it is refused.

        Raises:
            InvalidURL: at once, if the base is not an absolute URL.
        """
        self._plain.check_base(base)
        return (self.canonical(url, base) for url in urls)

    def explain(self, url: str | bytes, base: str | None = None) -> Trace:
        """Return what each rule changed, and where the URL was seen to lead.

        Raises:
            InvalidURL: if it is not a URL.
        """
        by_policy = self._plain.explain(url, base)
        found = Canonical(by_policy.url, by_policy.identity, by_policy.key)
        identity, seen = self._end(found)
        by_rules = self._learned.explain(url, base)
        if seen is None or by_rules.identity == identity:  # rules alone lead there
            return by_rules
        steps = list(by_policy.steps)
        before = by_policy.identity
        for step in seen.steps:  # each step of a trace leads from identity to identity
            after = self._plain.identity(step.to)
            steps.append(_change(step, before, after))
            before = after
        steps += self._learned.follow(before).trace()
        return Trace(
            text=to_text(url),
            policy=by_policy.policy,
            url=by_policy.url,
            identity=identity,
            key=self._plain.key_of(identity),
            steps=tuple(steps),
        )

    def _end(self, canonical: Canonical) -> tuple[str, EquivalenceClass | None]:
        """Return the identity that a URL leads to, and the class of its own key's URL, if any."""
        by_rules = self._learned.follow(canonical.identity).identity
        for key in dict.fromkeys((canonical.key, self._plain.key_of(by_rules))):
            for url_id in url_ids_of_keys(self._connection, [key]).values():
                seen = self._equivalences.representative(url_id)
                if seen.steps:
                    end = self._plain.identity(seen.url)
                    of_own_key = seen if key == canonical.key else None
                    return self._learned.follow(end).identity, of_own_key
        return by_rules, None


def _change(step: Alias, before: str, after: str) -> Change:
    """Return an alias as a step of a trace."""
    day = time.strftime("%Y-%m-%d", time.gmtime(step.last_seen))
    reason = _REASONS[step.kind].format(status=step.status)
    times = "once" if step.times == 1 else f"{step.times:,} times"
    return Change(
        name=f"alias-{step.kind}",
        before=before,
        after=after,
        rung=Rung.PROTOCOL,
        cites="RFC 3986 section 6.2.4",
        lossless=False,
        why=f"{reason} Seen {times}, last on {day}.",
    )

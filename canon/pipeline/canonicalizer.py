"""Canonicalizer: a policy compiled once and used millions of times."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from canonry.canon.errors import InvalidURL, Reason
from canonry.canon.learned.ruleset import Followed, RuleSet, follow, loads
from canonry.canon.pipeline.fastpath import clean_pattern, shortcut
from canonry.canon.pipeline.keys import hasher, surt_of
from canonry.canon.pipeline.native import kernel
from canonry.canon.pipeline.trace import Trace
from canonry.canon.policies.policy import Policy, preset
from canonry.canon.references import whatwg
from canonry.canon.references.resolve import resolve_rfc3986
from canonry.canon.rules.lossless import encode_disallowed
from canonry.canon.rules.repair import REPAIRS, RESOLVE, URL_STANDARD
from canonry.canon.rules.rule import Change
from canonry.canon.syntax import grammar
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.percent import to_text
from canonry.canon.syntax.schemes import NEEDS_HOST
from canonry.canon.syntax.uri import split

_MAX_PORT = 65535
_CHUNK = 1024


class Canonical(NamedTuple):
    """What a URL comes to.

    ``url`` is what to request: what a browser would, without the fragment, touched by no rule.
    ``identity`` is what to compare, as text; ``key`` is the identity's 16 bytes under the policy.
    """

    url: str
    identity: str
    key: bytes


class Refused(NamedTuple):
    """A text that has no canonical form, and why."""

    text: str
    reason: Reason
    position: int


class Canonicalizer:
    """Makes canonical forms under one policy. Immutable; share it between threads."""

    def __init__(
        self, policy: str | Policy = "web", rules: RuleSet | str | bytes | None = None
    ) -> None:
        """Compile a policy.

        Args:
            policy: a preset's name, or a policy that `canon.policies.policy.from_toml` read.
            rules: learned rules, which run after the policy's: a set of them, or the text that
                ``canonry rules export`` writes.

        Raises:
            PolicyError: for a name that no preset has.
            RulesError: for rules that cannot be used, or were learned under another policy.
        """
        self.policy = preset(policy) if isinstance(policy, str) else policy
        self._steps = self.policy.steps()
        self._functions = tuple(step.apply for step in self._steps)
        self._key = hasher(self.policy.label)
        self._is_clean = clean_pattern(self.policy)
        self._shortcut = shortcut(self.policy, self._steps)
        self.native = kernel(self.policy, Canonical)  # None where there is none
        self.rules = loads(rules) if isinstance(rules, str | bytes) else rules
        self._untaught: Canonicalizer | None = None  # the same without rules
        if self.rules is not None:
            self.rules.check_policy(self.policy.label)
            self.native = None
            self._untaught = Canonicalizer(self.policy)

    def __call__(self, url: str | bytes, base: str | None = None) -> Canonical:
        """Return what to request, what to compare, and the key.

        Args:
            url: a URL, or a reference when there is a base.
            base: an absolute URL.

        Raises:
            InvalidURL: when there is no canonical form; no other error, for any text.
        """
        if self._untaught is not None:
            return self._taught(self._untaught(url, base))
        if base is None and self.native is not None:
            found = self.native.canonical(url)
            if found is not None:
                return found
        text = url if isinstance(url, str) else to_text(url)
        if base is None and self._is_clean(text):  # the plain pipeline would change nothing
            return Canonical(text, text, self._key(text))
        read = self._read(to_text(text), base)
        if base is not None and self.native is not None:  # it knows URLs, and no bases
            found = self.native.canonical(read)
            if found is not None:
                return found
        if self._is_clean(read):  # nor would the steps
            return Canonical(read, read, self._key(read))
        identity = self._shortcut(read) or self._identify(read)
        return Canonical(self._request(read), identity, self._key(identity))

    def identity(self, url: str | bytes, base: str | None = None) -> str:
        """Return only what to compare, as text: for when no key is wanted.

        Raises:
            InvalidURL: as `__call__` does.
        """
        if self._untaught is not None:
            return self.follow(self._untaught.identity(url, base)).identity
        if base is None and self.native is not None:
            identity = self.native.identity(url)
            if identity is not None:
                return identity
        text = url if isinstance(url, str) else to_text(url)
        if base is None and self._is_clean(text):
            return text
        read = self._read(to_text(text), base)
        return read if self._is_clean(read) else self._shortcut(read) or self._identify(read)

    def key_of(self, identity: str) -> bytes:
        """Return the key of an identity that this policy made."""
        return self._key(identity)

    def follow(self, identity: str) -> Followed:
        """Apply the learned rules to what this policy made; without any, nothing acts."""
        if self._untaught is None or self.rules is None:
            return Followed(identity)
        return follow(self.rules, identity, self._untaught.identity)

    def _taught(self, found: Canonical) -> Canonical:
        """Apply the learned rules to what came of a URL; what is requested stays."""
        identity = self.follow(found.identity).identity
        if identity == found.identity:
            return found
        return Canonical(found.url, identity, self._key(identity))

    def surt(self, url: str | bytes, base: str | None = None) -> str:
        """Return the SURT of a URL's identity; under ``archive``, as web archives write it.

        Raises:
            InvalidURL: as `__call__` does.
        """
        return self.surt_of(self.identity(url, base))

    def surt_of(self, identity: str) -> str:
        """Return the SURT of an identity that this policy made."""
        return surt_of(identity, lower_escapes="letter-case" in self.policy.practice)

    def plain(self, url: str | bytes, base: str | None = None) -> Canonical:
        """Do what `__call__` does without its fast paths, for which this is the oracle."""
        read = self._read(to_text(url), base)
        identity = self._identify(read)
        return self._taught(Canonical(self._request(read), identity, self._key(identity)))

    def many(
        self, urls: Iterable[str | bytes], base: str | None = None
    ) -> Iterator[Canonical | Refused]:
        """Yield one result for each URL, in order; a bad URL is a `Refused`, never an error.

        What comes from a generator is answered one by one as it comes; a list goes faster.
        """
        if self._untaught is not None:
            for result in self._untaught.many(urls, base):
                yield result if isinstance(result, Refused) else self._taught(result)
            return
        if isinstance(urls, list) and base is None and self.native is not None:
            for start in range(0, len(urls), _CHUNK):
                chunk = urls[start : start + _CHUNK]
                for url, found in zip(chunk, self.native.canonicals(chunk), strict=True):
                    yield found if found is not None else self._canonical_or_refused(url, None)
            return
        for url in urls:
            yield self._canonical_or_refused(url, base)

    def _canonical_or_refused(self, url: str | bytes, base: str | None) -> Canonical | Refused:
        """Return what comes of a URL, and why nothing does where nothing does."""
        try:
            return self(url, base)
        except InvalidURL as error:
            return Refused(error.text, error.reason, error.position)

    def explain(self, url: str | bytes, base: str | None = None) -> Trace:
        """Return which rule did what; it ends where `__call__` does.

        Raises:
            InvalidURL: as `__call__` does.
        """
        text = to_text(url)
        read = self._read(text, base)
        identity = self._identify(read)
        followed = self.follow(identity)
        return Trace(
            text=text,
            policy=self.policy.label,
            url=self._request(read),
            identity=followed.identity,
            key=self._key(followed.identity),
            steps=(*self._account(text, read, identity, base), *followed.trace()),
        )

    def _read(self, text: str, base: str | None) -> str:
        """Read a reference in the policy's dialect; the result is absolute."""
        if self.policy.dialect == "whatwg":
            return whatwg.serialize(text) if base is None else whatwg.join(to_text(base), text)
        return check_rfc3986(text if base is None else resolve_rfc3986(text, to_text(base)))

    def _request(self, read: str) -> str:
        """Return what a browser would request for an absolute URL."""
        text = read
        if self.policy.dialect != "whatwg":
            text = str(encode_disallowed(Parts.of(read)))
            with suppress(InvalidURL):  # a URI that no browser fetches is requested as it stands
                text = whatwg.serialize(text)
        return text.partition("#")[0]

    def _identify(self, read: str) -> str:
        """Run every step of the policy over an absolute URL."""
        parts = Parts.of(read)
        for apply in self._functions:
            parts = apply(parts)
        return str(parts)

    def _account(self, text: str, read: str, identity: str, base: str | None) -> Iterator[Change]:
        """Account for the way from a text to its identity, rule by rule.

        A browser's parser mends, resolves and normalizes in one go. Its work is told by the rules
        it amounts to, where these lead to the same identity; the rest is the URL Standard's.
        """
        if self.policy.dialect != "whatwg":
            if read != text:
                yield Change.by(RESOLVE, text, read)
            yield from self._steps_from(read)
            return
        repairs = list(_repairs_from(text))
        mended = repairs[-1].after if repairs else text
        if base is not None and split(mended).scheme is None:
            yield from repairs
            yield Change.by(RESOLVE, mended, read)
            yield from self._steps_from(read)
            return
        steps = list(self._steps_from(mended))
        if (steps[-1].after if steps else mended) != identity:
            standard = [Change.by(URL_STANDARD, mended, read)] if mended != read else []
            steps = standard + list(self._steps_from(read))
        yield from repairs
        yield from steps

    def _steps_from(self, text: str) -> Iterator[Change]:
        """Run the steps over a text and yield those that acted."""
        parts = Parts.of(text)
        for step in self._steps:
            after = step.apply(parts)
            if after is not parts:
                yield Change.by(step, str(parts), str(after))
                parts = after


def _repairs_from(text: str) -> Iterator[Change]:
    """Run the repairs over a text and yield those that acted."""
    for repair in REPAIRS:
        after = repair.apply(text)
        if after != text:
            yield Change.by(repair, text, after)
            text = after


_AUTHORITY_END = re.compile(r"[/?#]")


def check_rfc3986(text: str) -> str:
    """Return a text that RFC 3986 can read as an absolute URI, or say why it cannot.

    Characters that the grammar does not allow are no reason: a step encodes them.

    Raises:
        InvalidURL: no scheme; a host or a port that is none (sections 3.1, 3.2.2, 3.2.3); http
            and its kin without a host (RFC 9110 section 4.2.1).
    """
    parts = Parts.of(text)
    if parts.scheme is None:
        colon = _AUTHORITY_END.split(text, maxsplit=1)[0].find(":")
        reason = Reason.SCHEME if colon >= 0 else Reason.RELATIVE if text else Reason.EMPTY
        raise InvalidURL(reason, text, max(colon, 0))
    start = len(parts.scheme) + 3 + (0 if parts.userinfo is None else len(parts.userinfo) + 1)
    if not parts.host:
        if parts.scheme.lower() in NEEDS_HOST:
            raise InvalidURL(Reason.NO_HOST, text, start)
        return text
    name = parts.host
    if "[" in name or "]" in name:
        if not grammar.matches("IP-literal", name):
            raise InvalidURL(Reason.HOST, text, start)
    elif ":" in name:
        raise InvalidURL(Reason.PORT, text, start + name.index(":") + 1)
    if parts.port and int(parts.port.lstrip("0")[:6] or "0") > _MAX_PORT:
        raise InvalidURL(Reason.PORT, text, start + len(name) + 1)
    return text

"""The canonicalizer: a policy, compiled once and used millions of times."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, starmap

from canonry.canon.arguments import check_several, check_text, check_url, wrong_type
from canonry.canon.errors import InvalidURL, Reason
from canonry.canon.learned.ruleset import Followed, RuleSet, follow, loads
from canonry.canon.pipeline.canonical import (
    Canonical,
    Refused,
    Trace,
    changes_of_uri,
    changes_of_url,
)
from canonry.canon.pipeline.fastpath import recognizer
from canonry.canon.pipeline.keys import Spelling, hasher, surt_of
from canonry.canon.pipeline.native import kernel
from canonry.canon.pipeline.rewriting import with_rules
from canonry.canon.policies.policy import Policy, PolicyError, check_policy
from canonry.canon.policies.policy_files import FilePath, from_file, preset
from canonry.canon.references import whatwg
from canonry.canon.references.resolve import resolve
from canonry.canon.references.rfc3986 import check_absolute
from canonry.canon.rules.lossless import encode_disallowed
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.percent import to_text

_CHUNK = 1024


class Canonicalizer:
    """Makes canonical forms under one policy. Immutable: share it between threads, or pickle it.

    >>> make = canonry.Canonicalizer("search")
    >>> found = make("../b?y=2&x=1#top", "http://example.com/a/c")
    >>> found.url, found.identity
    ('http://example.com/b?y=2&x=1', 'http://example.com/b?x=1&y=2')
    >>> [type(one).__name__ for one in make.many(["http://example.com/", "http://["])]
    ['Canonical', 'Refused']
    >>> [step.name for step in make.explain("http://example.com:80/%7Ebob").steps]
    ['percent-unreserved', 'default-port']
    """

    def __init__(
        self,
        policy: str | Policy | FilePath = "web",
        rules: RuleSet | str | bytes | None = None,
    ) -> None:
        """Compile a policy.

        Args:
            policy: a preset's name, such as ``web`` or ``web@1``, the path of a TOML file as a
                ``Path``, or a policy from `canonry.canon.policies.from_toml`. A name without a
                version means the version of the rules, if they are given, and the current one
                otherwise.
            rules: learned rules, to run after the policy's: a rule set, or the text that
                ``canonry rules export`` writes.

        Raises:
            PolicyError: no preset has that name, or the policy is invalid, or its file cannot be
                read.
            RulesError: the rules are invalid, or were learned under another policy.
            TypeError: an argument has a wrong type.
        """
        if isinstance(policy, FilePath):
            policy = from_file(policy)
        if not isinstance(policy, str | Policy):
            raise wrong_type("policy", policy, "the name of a preset, a Path, or a Policy")
        if not isinstance(rules, RuleSet | str | bytes | None):
            raise wrong_type("rules", rules, "a RuleSet, or the text of one")
        self.rules = loads(rules) if isinstance(rules, str | bytes) else rules
        if isinstance(policy, str):
            if policy.endswith(".toml"):
                message = f"no policy {policy!r}; to read a file, pass its path: Path({policy!r})"
                raise PolicyError(message)
            policy = preset(policy)
        self.policy = policy
        check_policy(self.policy, f"policy {self.policy.versioned_name}")
        self._steps = self.policy.steps()
        self._functions = tuple(step.apply for step in self._steps)
        self._key = hasher(self.policy.label)
        self.spelling = _spelling(self.policy)
        self._recognize = recognizer(self.policy)
        self.native = kernel(self.policy, Canonical)  # None where it cannot be used
        self._without_rules: Canonicalizer | None = None
        if self.rules is not None:
            self.rules.check_policy(self.policy.label)
            self.native = None
            self._without_rules = Canonicalizer(self.policy)

    def __repr__(self) -> str:
        """Return the policy and the rules, as a call."""
        rules = "" if self.rules is None else f", rules={self.rules!r}"
        return f"{type(self).__name__}({self.policy.versioned_name!r}{rules})"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy what it was made from; the copy compiles it again."""
        return type(self), (self.policy, self.rules)

    @property
    def without_rules(self) -> "Canonicalizer":
        """The same without learned rules; itself if it has none."""
        return self if self._without_rules is None else self._without_rules

    def __call__(self, url: str | bytes, base: str | None = None) -> Canonical:
        """Return what to request, what to compare, and the key.

        Args:
            url: an absolute URL; with a base, any reference.
            base: an absolute URL.

        Raises:
            InvalidURL: the text has no canonical form. No text raises any other error.
            TypeError: an argument is neither text nor bytes.
        """
        if self._without_rules is not None:
            return self._with_rules(self._without_rules(url, base))
        if self.native is not None:
            form = self.native.canonical(url) if base is None else self.native.canonical(url, base)
            if form is not None:
                return form
        text = to_text(url)
        url_and_identity = self._recognize(text) if base is None else None
        if url_and_identity is None:
            read = self._read(text, base)
            if base is not None and self.native is not None:  # it could not resolve the reference
                form = self.native.canonical(read)
                if form is not None:
                    return form
            url_and_identity = self._recognize(read) or (self._request(read), self._identify(read))
        return Canonical(*url_and_identity, self._key(url_and_identity[1]))

    def identity(self, url: str | bytes, base: str | None = None) -> str:
        """Return only what to compare, as text; faster than `__call__` if no key is needed.

        Raises:
            InvalidURL: as `__call__` does.
        """
        if self._without_rules is not None:
            return self.follow(self._without_rules.identity(url, base)).identity
        if base is None and self.native is not None:
            identity = self.native.identity(url)
            if identity is not None:
                return identity
        text = to_text(url)
        url_and_identity = self._recognize(text) if base is None else None
        if url_and_identity is None:
            read = self._read(text, base)
            url_and_identity = self._recognize(read) or (read, self._identify(read))
        return url_and_identity[1]

    def key_of(self, identity: str) -> bytes:
        """Return the key of an identity that this policy made."""
        try:
            return self._key(identity)
        except AttributeError:
            raise wrong_type("an identity", identity, "str") from None

    def follow(self, identity: str) -> Followed:
        """Apply the learned rules to an identity that this policy made."""
        check_text("an identity", identity)
        if self._without_rules is None or self.rules is None:
            return Followed(identity)
        return follow(self.rules, identity, self._without_rules.identity)

    def _with_rules(self, found: Canonical) -> Canonical:
        """Apply the learned rules to a canonical form, except to its URL to request."""
        identity = self.follow(found.identity).identity
        if identity == found.identity:
            return found
        return Canonical(found.url, identity, self._key(identity))

    def surt(self, url: str | bytes, base: str | None = None) -> str:
        """Return the SURT of a URL's identity; under ``archive``, the key of web archives' indexes.

        That key is for look-ups only: it is no URL any more, and merges more than the identity.

        Raises:
            InvalidURL: as `__call__` does.
        """
        return self.surt_of(self.identity(url, base))

    def surt_of(self, identity: str) -> str:
        """Return the SURT of an identity that this policy made."""
        check_text("an identity", identity)
        return surt_of(identity, self.spelling)

    def plain(self, url: str | bytes, base: str | None = None) -> Canonical:
        """Do what `__call__` does, without fast paths: their oracle in the tests."""
        read = self._read(to_text(url), base)
        identity = self._identify(read)
        return self._with_rules(Canonical(self._request(read), identity, self._key(identity)))

    def many(
        self, urls: Iterable[str | bytes], base: str | None = None
    ) -> Iterator[Canonical | Refused]:
        """Yield one result for each URL, in order; a bad URL gives a `Refused`, never an error.

        An iterator is consumed one URL at a time; a list is faster.

        Raises:
            InvalidURL: at once, if the base is not an absolute URL.
            TypeError: at once, if it is no iterable of URLs; at its turn, for one that is no URL.
        """
        check_several("urls", urls, "URLs")
        self.check_base(base)
        if isinstance(urls, list) and base is None and (self.native or self._without_rules):
            chunks = ((at, urls[at : at + _CHUNK]) for at in range(0, len(urls), _CHUNK))
            return chain.from_iterable(starmap(self._chunk, chunks))
        return self._many(urls, base)

    def check_base(self, base: str | None) -> None:
        """Refuse a base against which no reference can be resolved; None is allowed.

        Raises:
            InvalidURL: it is not an absolute URL.
            TypeError: it is neither text nor bytes.
        """
        if base is None:
            return
        text = to_text(base, "the base")
        try:
            self._read(text, None)
        except InvalidURL:
            raise InvalidURL(Reason.BASE, text) from None

    def _many(
        self, urls: Iterable[str | bytes], base: str | None, first: int = 0
    ) -> Iterator[Canonical | Refused]:
        """Yield the results of `many` one by one; ``first`` is the index of the first URL."""
        for place, url in enumerate(urls, first):
            check_url(url, place)
            yield self._canonical_or_refused(url, base)

    def _chunk(self, first: int, urls: list[str | bytes]) -> Iterable[Canonical | Refused]:
        """Return the results of `many` for some URLs, from the kernel where it has them."""
        with suppress(TypeError):  # an item is no URL: `_many` yields the results before it first
            if self._without_rules is not None and self.rules is not None:
                return with_rules(self.rules, self._without_rules, urls)
            if self.native is not None:
                return self.native.canonicals(urls, self._canonical_or_refused)
        return self._many(urls, None, first)

    def _canonical_or_refused(
        self, url: str | bytes, base: str | None = None
    ) -> Canonical | Refused:
        """Return the canonical form of a URL, or its refusal."""
        try:
            if base is None and self.policy.dialect == "whatwg":
                found = whatwg.relative(text := to_text(url))
                if found is not None:
                    return Refused(text, *found)
            return self(url, base)
        except InvalidURL as error:
            return Refused(error.text, error.reason, error.position)

    def explain(self, url: str | bytes, base: str | None = None) -> Trace:
        """Return what each rule did; the last step ends at the identity of `__call__`.

        Raises:
            InvalidURL: as `__call__` does.
        """
        text = to_text(url)
        read = self._read(text, base)
        identity = self._identify(read)
        followed = self.follow(identity)
        if self.policy.dialect == "whatwg":
            has_base = base is not None
            steps = changes_of_url(text, read, identity, self._steps, has_base=has_base)
        else:
            steps = changes_of_uri(text, read, self._steps)
        return Trace(
            text=text,
            policy=self.policy.label,
            url=self._request(read),
            identity=followed.identity,
            key=self._key(followed.identity),
            steps=(*steps, *followed.trace()),
        )

    def _read(self, text: str, base: str | None) -> str:
        """Parse a reference in the policy's dialect; the result is absolute."""
        if self.policy.dialect == "whatwg":
            if base is None:
                return whatwg.serialize(text)
            return whatwg.join(to_text(base, "the base"), text)
        if base is not None:
            text = resolve(text, base, dialect=self.policy.dialect)
        return check_absolute(text)

    def _request(self, read: str) -> str:
        """Return what a browser would request for an absolute URL."""
        text = read
        if self.policy.dialect != "whatwg":
            text = str(encode_disallowed(Parts.of(read)))
            with suppress(InvalidURL):  # a URI that no browser can fetch stays as it is
                text = whatwg.serialize(text)
        return text.partition("#")[0]

    def _identify(self, read: str) -> str:
        """Run every step of the policy over an absolute URL."""
        parts = Parts.of(read)
        for apply in self._functions:
            parts = apply(parts)
        return str(parts)


def _spelling(policy: Policy) -> Spelling:
    """Return how the SURTs of a policy are written."""
    if "decode-escapes" in policy.practice:
        return Spelling.INDEX
    return Spelling.LOWER if "letter-case" in policy.practice else Spelling.PLAIN

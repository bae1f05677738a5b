"""Crawlee for Python: our identity as the unique key of requests."""

import hashlib
from typing import Literal

from crawlee import Request, RequestOptions

from canonry.canon import Canonicalizer, InvalidURL, Policy, RuleSet

# Options with which a request has its own key, or asks for one of Crawlee's.
_OWN_KEY = ("unique_key", "id", "always_enqueue", "use_extended_unique_key", "keep_url_fragment")


class UniqueKeys:
    """Gives requests our identity as their unique key; pass it as ``transform_request_function``.

    What we refuse keeps Crawlee's own key, and so does a request that has a key already or asks for
    an extended one. A request with another method or a payload is told apart by both.
    """

    def __init__(self, policy: str | Policy = "web", rules: RuleSet | str | None = None) -> None:
        """Prepare the identities.

        Args:
            policy: which rules make the identity.
            rules: learned rules, or the text of their file.
        """
        self._identity = Canonicalizer(policy, rules).identity

    def __call__(self, options: RequestOptions) -> RequestOptions | Literal["unchanged"]:
        """Return the options of a request with our key, or say that they stay as they are."""
        if any(options.get(name) for name in _OWN_KEY):
            return "unchanged"
        try:
            key = self._identity(options["url"])
        except InvalidURL:
            return "unchanged"
        method, payload = (options.get("method") or "GET").upper(), options.get("payload") or b""
        if method != "GET" or payload:
            content = payload.encode() if isinstance(payload, str) else payload
            key = f"{method} {hashlib.blake2b(content, digest_size=16).hexdigest()} {key}"
        return RequestOptions({**options, "unique_key": key})

    def request(self, url: str) -> Request:
        """Return a request for a URL, such as a start URL, with our key."""
        options = self(RequestOptions(url=url))
        return Request.from_url(url) if options == "unchanged" else Request.from_url(**options)

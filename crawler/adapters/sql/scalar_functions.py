"""THE table of functions for one URL at a time, as SQL calls them."""

from collections.abc import Callable
from functools import lru_cache

from canonry.canon import Canonicalizer, InvalidURL
from canonry.crawler.adapters.hosts import host_of_identity

Value = str | bytes | int | float | None  # what SQLite passes


def _key(make: Canonicalizer, url: str | bytes) -> bytes:
    return make(url).key


def _host(make: Canonicalizer, url: str | bytes) -> str | None:
    return host_of_identity(make.identity(url))


SCALARS: dict[str, Callable[[Canonicalizer, str | bytes], str | bytes | None]] = {
    "canonry_identity": Canonicalizer.identity,
    "canonry_key": _key,
    "canonry_surt": Canonicalizer.surt,
    "canonry_host": _host,
}


@lru_cache(maxsize=32)
def _compiled(policy: str) -> Canonicalizer:
    """Return the canonicalizer of a preset, compiled once."""
    return Canonicalizer(policy)


def scalar(name: str) -> Callable[..., str | bytes | None]:
    """Return a function of a URL and, if it is given, the name of a policy.

    It returns None for a missing URL and for one that is refused.
    """
    apply = SCALARS[name]

    def function(url: Value, policy: str | None = "web") -> str | bytes | None:
        if url is None or policy is None:
            return None
        make = _compiled(policy)
        try:
            return apply(make, url if isinstance(url, str | bytes) else str(url))
        except InvalidURL:
            return None

    return function


def reason(url: Value, policy: str | None = "web") -> str | None:
    """Return the name of the reason why a URL is refused; None if it is not, or is missing."""
    if url is None or policy is None:
        return None
    make = _compiled(policy)
    try:
        make.identity(url if isinstance(url, str | bytes) else str(url))
    except InvalidURL as error:
        return error.reason.name
    return None


def functions() -> dict[str, Callable[..., str | bytes | None]]:
    """Return all functions by their names in SQL."""
    return {**{name: scalar(name) for name in SCALARS}, "canonry_reason": reason}

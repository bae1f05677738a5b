"""Convert the hosts, paths and parameter names of shared rules to the fields of our rules."""

from canonry.canon import InvalidURL, canonicalize
from canonry.canon.learned import is_host_name, is_site
from canonry.canon.syntax import Parts
from canonry.crawler.admission.scope import is_public_suffix
from canonry.crawler.rule_lists.conversion import Lost


class UnsayableError(Exception):
    """Our families cannot express a rule."""

    def __init__(self, lost: Lost) -> None:
        super().__init__(lost.value)
        self.lost = lost


def site_from(text: str) -> str:
    """Return the site that a list means by a host, with its port if it has one.

    Raises:
        UnsayableError: if it is not a host, or has the default port of a scheme.
    """
    try:
        parts = Parts.of(canonicalize(f"http://{text}/", policy="rfc3986"))
    except InvalidURL:
        raise UnsayableError(Lost.INVALID) from None
    if parts.userinfo is not None or parts.path != "/" or not parts.host:
        raise UnsayableError(Lost.INVALID)
    site = parts.host if parts.port is None else f"{parts.host}:{parts.port}"
    if ":" in text.rpartition("]")[2] and parts.port in {None, "443"}:
        raise UnsayableError(Lost.SCHEME)
    if not is_site(site):
        raise UnsayableError(Lost.HOSTS)
    return site


def domain_from(text: str) -> str:
    """Return the domain that a list means, if a rule of ours may cover its subdomains.

    Raises:
        UnsayableError: if a rule must not cover them.
    """
    site = site_from(text)
    if not is_host_name(site):
        raise UnsayableError(Lost.HOSTS)
    if is_public_suffix(site):
        raise UnsayableError(Lost.SUFFIX)
    return site


def below_from(prefix: str) -> tuple[str, tuple[Lost, ...]]:
    """Return the directory for a prefix of paths, and what it leaves out.

    Raises:
        UnsayableError: if the prefix is not a directory, with or without its last slash.
    """
    if prefix in {"", "/"}:
        return "/", ()
    name = prefix.removesuffix("/").rpartition("/")[2]
    if not prefix.startswith("/") or "//" in prefix or "." in name:
        raise UnsayableError(Lost.PATH)
    below = prefix if prefix.endswith("/") else f"{prefix}/"
    try:
        parts = Parts.of(canonicalize(f"http://h.example{below}", policy="rfc3986"))
    except InvalidURL:
        raise UnsayableError(Lost.PATH) from None
    if parts.path != below or parts.query is not None or parts.fragment is not None:
        raise UnsayableError(Lost.PATH)
    lost = [] if prefix == below else [Lost.OPEN_END]
    if below.lower() != below.upper():
        lost.append(Lost.PATH_CASE)
    return below, tuple(lost)


def spellings(name: str) -> tuple[tuple[str, ...], tuple[Lost, ...]]:
    """Return how canonical URLs write the name of a parameter, and what that leaves out.

    Args:
        name: decoded.
    """
    escaped = _as_written("".join(f"%{byte:02X}" for byte in name.encode()))
    plain = None if any(mark in name for mark in "&=#%+") else _as_written(name)
    if escaped is None:
        raise UnsayableError(Lost.NAMES)
    if plain == escaped:
        return (escaped,), ()
    return (escaped,) if plain is None else (plain, escaped), (Lost.ESCAPES,)


def stays(name: str) -> bool:
    """Return True if canonical URLs write the name of a parameter unchanged."""
    return not any(mark in name for mark in "&=#%+") and _as_written(name) == name


def _as_written(name: str) -> str | None:
    """Return the name of a parameter as canonical URLs write it; None if they cannot."""
    try:
        # This policy does not remove tracking parameters.
        query = Parts.of(canonicalize(f"http://h/?{name}=1", policy="rfc3986")).query
    except InvalidURL:
        return None
    return query.removesuffix("=1") if query and query.endswith("=1") else None

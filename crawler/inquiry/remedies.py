"""Remedies: for each reason to hold or to fail, the setting or command that lifts it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from shlex import quote
from types import MappingProxyType
from typing import NamedTuple

from canonry.canon.syntax import Parts
from canonry.crawler.admission.scope import host_of, registrable
from canonry.crawler.admission.url_filter import patterns_of
from canonry.crawler.fetch.faults import Fault
from canonry.crawler.fetch.ports import is_web_port
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.settings import Settings
from canonry.crawler.settings.host_tables import HostTables


class Case(NamedTuple):
    """A URL that is not fetched, and what its remedy depends on."""

    url: str
    depth: int
    hops: int
    settings: Settings  # of the last crawl, or the defaults
    seeds: Sequence[str]
    rules: Sequence[str]  # ids of the learned rules that hold it
    excluded: Collection[str] = ()  # the patterns that people have excluded


class ReasonRow(NamedTuple):
    """What is said of a reason, beside its name and its sentence."""

    helps: str | Callable[[Case], str]  # a text may have the names that the function replaces
    more: str = ""  # for the page of reasons
    is_released: bool = True  # False: another command lifts it, or no crawl can fetch the URLs
    is_looked_at: bool = False  # a person should look: else the crawl does as it was told


def _scope(case: Case) -> str:
    host = host_of(case.url)
    near = {registrable(host_of(seed)) for seed in case.seeds}
    if case.settings.crawl.scope == "prefix":
        wider = "--scope host, domain or any"
    else:
        wider = "--scope domain, or any" if registrable(host) in near else "--scope any"
    return f"{wider}, or a seed there: canonry crawl … {Parts.of(case.url).scheme}://{host}/"


def _deeper(case: Case) -> str:
    host = host_of(case.url)
    own = HostTables(case.settings.hosts).of(host).max_depth
    if own is not None:
        return f"max_depth of [hosts] for {host} in --config: {case.depth} or more (it was {own})"
    return f"--max-depth {case.depth} or more (it was {case.settings.crawl.max_depth})"


def setting_of(reason: str, url: str, settings: Settings) -> str:
    """Return the setting of a budget that a URL counts against.

    Args:
        reason: ``pattern-budget``, ``host-budget`` or ``domain-budget``.
        url: as it is requested.
        settings: of the crawl.
    """
    if reason == HoldReason.PATTERN_BUDGET.label:
        return "max_per_pattern of [traps]"
    if reason == HoldReason.DOMAIN_BUDGET.label:
        return "max_hosts_per_domain of [traps]"
    host = host_of(url)
    if HostTables(settings.hosts).of(host).max_pages is not None:
        return f"max_pages of [hosts] for {host}"
    return "max_per_host of [traps]"


def _rules(case: Case) -> str:
    if not case.rules:
        return "canonry rules list shows the rules; canonry rules revoke ID puts its URLs back"
    return f"canonry rules revoke {case.rules[0]} puts the URLs that it holds back into the queue"


def _include(case: Case) -> str:
    patterns = patterns_of(case.url)
    excluded = next((one for one in patterns if one in case.excluded), patterns[-1])
    return f"canonry patterns include {quote(excluded)}"


_AGAIN = "the same crawl command again: it tries what it could not reach before"
_BUDGET = "{setting} in --config: a larger number, or 0 for no limit"
_SEED = ReasonRow("it as a seed of the crawl: seeds are always fetched")
_PORTS = "nothing: such ports are never asked"
_ENGINE = "Only with another engine that fetches."

# All reasons: what helps, and what becomes of the URLs. The sentence of each is its value.
REASONS: Mapping[HoldReason | Fault, ReasonRow] = MappingProxyType(
    {
        HoldReason.OUT_OF_SCOPE: ReasonRow(_scope),
        HoldReason.EXCLUDED: ReasonRow(
            "--exclude without the pattern; canonry scope test URL tries patterns"
        ),
        HoldReason.NOT_INCLUDED: ReasonRow(
            "--include with a pattern that matches it; canonry scope test URL tries patterns"
        ),
        HoldReason.TOO_DEEP: ReasonRow(_deeper),
        HoldReason.TOO_MANY_HOPS: ReasonRow(
            "max_hops in [crawl] of --config: {case.hops} or more (it was {crawl.max_hops})"
        ),
        HoldReason.TOO_LONG: ReasonRow(
            "max_url in [traps] of --config: {length:,} or more (it was {traps.max_url:,})"
        ),
        HoldReason.TOO_MANY_SEGMENTS: _SEED,
        HoldReason.REPEATING_PATH: _SEED,
        HoldReason.OTHER_TYPE: ReasonRow("--only-types with its type (it was {types})"),
        HoldReason.PATTERN_BUDGET: ReasonRow(_BUDGET, is_looked_at=True),
        HoldReason.HOST_BUDGET: ReasonRow(_BUDGET, is_looked_at=True),
        HoldReason.DOMAIN_BUDGET: ReasonRow(
            _BUDGET,
            "From 100,000 such URLs on, links to further hosts are only counted.",
            is_looked_at=True,
        ),
        HoldReason.PORT: ReasonRow(_PORTS, is_released=False),
        HoldReason.ROBOTS: ReasonRow("the owner of the site; if the file has changed, {release}"),
        HoldReason.USE_RESERVED: ReasonRow("another crawl.purpose in --config (it was {purpose})"),
        HoldReason.SCHEME: ReasonRow("nothing: it is not a web page", is_released=False),
        HoldReason.LEARNED: ReasonRow(_rules, is_released=False),
        HoldReason.RECORD: ReasonRow("nothing: there is no URL to fetch", is_released=False),
        HoldReason.WALL: ReasonRow(
            "the site, when it shows the page: a run an hour or more later asks again; at once, "
            "{release}",
            is_looked_at=True,
        ),
        HoldReason.HOST_BLOCKED: ReasonRow(
            "canonry hosts unblock {host}",
            "Or a wall hides the host, until the next run.",
            is_released=False,
        ),
        HoldReason.PATTERN_EXCLUDED: ReasonRow(_include, is_released=False),
        HoldReason.UNDISCOVERED: ReasonRow(
            "the engine puts it when it finds it", _ENGINE, is_released=False
        ),
        HoldReason.DELETED: ReasonRow("the engine puts it again", _ENGINE, is_released=False),
        HoldReason.LONG_GONE: ReasonRow(
            "a link, once it is forgotten: 30 days after an export said so", is_released=False
        ),
        HoldReason.OURS: ReasonRow(
            "the next crawl asks it again", "After ten in a row, the run ends.", is_looked_at=True
        ),
        Fault.DNS: ReasonRow("a name that this machine can resolve; then {again}"),
        Fault.ADDRESS: ReasonRow("--allow-private, if the address is your own network's; {then}"),
        Fault.CONNECT: ReasonRow("{again}"),
        Fault.PROXY: ReasonRow("--proxy URL, or none; then the same crawl command again"),
        Fault.TLS: ReasonRow("--ca-file, if the authority is your own; {then}"),
        Fault.TIMEOUT: ReasonRow(
            "timeout in [fetch] of --config: more than {fetch.timeout:g} seconds; {then}"
        ),
        Fault.PROTOCOL: ReasonRow("{release}"),
        Fault.BODY: ReasonRow("{release}"),
        Fault.TOO_LARGE: ReasonRow(
            "max_body in [fetch] of --config: more than {fetch.max_body:,} bytes; {then}"
        ),
        Fault.SERVER: ReasonRow(
            "{release}",
            "429, 500, 502, 503 or 504 after all retries, or where retries have cured nothing.",
        ),
        Fault.OUTAGE: ReasonRow(
            "the site, when it shows the page; the next recrawl asks again",
            "Only of a page that is kept.",
        ),
        Fault.LOOP: ReasonRow(
            "{release}", "A circle of several URLs is no failure: each is `redirected`."
        ),
        Fault.ROBOTS_UNREACHABLE: ReasonRow(
            "{again}",
            "After a colon is the cause: `connection refused`, `dns`, `timeout`, `status 503` …",
        ),
    }
)
_BY_LABEL = MappingProxyType({one.label: one for one in REASONS})
_REFUSED = f"a server that listens there: check the port, and http or https; then {_AGAIN}"


def row_of(reason: str) -> ReasonRow | None:
    """Return the row of a reason as the store has it, perhaps with a cause; None if it has none."""
    found = _BY_LABEL.get(reason.partition(":")[0])
    return found and REASONS[found]


def remedy(reason: str, case: Case) -> str | None:
    """Return what lifts a reason; None if we know of nothing.

    Args:
        reason: the name that the store uses, perhaps with its cause: ``robots-unreachable: dns``.
        case: the URL that is not fetched.
    """
    label, _, cause = reason.partition(": ")
    cause = cause.partition(",")[0]
    if cause == "connection refused":
        return _REFUSED
    found = _BY_LABEL.get(cause) or _BY_LABEL.get(label)
    return None if found is None else helps(found, case)


def helps(reason: HoldReason | Fault, case: Case) -> str:
    """Return what lifts a reason for a URL."""
    how, settings = REASONS[reason].helps, case.settings
    if not isinstance(how, str):
        return how(case)
    if reason is Fault.ADDRESS and refused_port(case.url) is not None:
        return _PORTS
    release = f"canonry refused release {reason.label}, and the same crawl command again"
    return how.format(
        case=case,
        crawl=settings.crawl,
        fetch=settings.fetch,
        traps=settings.traps,
        setting=setting_of(reason.label, case.url, settings),
        host=host_of(case.url),
        length=len(case.url),
        types=", ".join(settings.fetch.only_types),
        purpose=", ".join(settings.crawl.purpose),
        again=_AGAIN,
        release=release,
        then=f"then {release}",
    )


def sentence_about(url: str, reason: str) -> str | None:
    """Return the sentence of a reason to hold or fail, with the port of the URL if that is why."""
    if reason == Fault.ADDRESS.label and (port := refused_port(url)) is not None:
        return f"port {port} belongs to another protocol than HTTP"
    return sentence(reason)


def refused_port(url: str) -> str | None:
    """Return the port of a URL if no request goes to it."""
    port = Parts.of(url).port
    return None if is_web_port(port) else port


def sentence(reason: str) -> str | None:
    """Return the sentence of a reason to hold or fail, with the cause that some reasons name.

    Returns:
        None for other reasons.
    """
    label, _, cause = reason.partition(": ")
    kind, _, more = cause.partition(", ")
    found, about = _BY_LABEL.get(label), _BY_LABEL.get(kind)
    words = [found and found.value, about.value if about else kind, more]
    return found and ": ".join(word for word in words if word)

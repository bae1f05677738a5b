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


Remedy = Callable[[Case], str]


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


def _longer(case: Case) -> str:
    limit = case.settings.traps.max_url
    return f"max_url in [traps] of --config: {len(case.url):,} or more (it was {limit:,})"


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


def _budget(reason: HoldReason) -> Remedy:
    def remedy(case: Case) -> str:
        setting = setting_of(reason.label, case.url, case.settings)
        return f"{setting} in --config: a larger number, or 0 for no limit"

    return remedy


def _rules(case: Case) -> str:
    if not case.rules:
        return "canonry rules list shows the rules; canonry rules revoke ID puts its URLs back"
    return f"canonry rules revoke {case.rules[0]} puts the URLs that it holds back into the queue"


def _include(case: Case) -> str:
    patterns = patterns_of(case.url)
    excluded = next((one for one in patterns if one in case.excluded), patterns[-1])
    return f"canonry patterns include {quote(excluded)}"


def _says(text: str) -> Remedy:
    return lambda _case: text


def _release(reason: Fault | HoldReason) -> str:
    return f"canonry refused release {reason.label}, and the same crawl command again"


_SAME = "the same crawl command again: it tries what it could not reach before"
_SEED = "it as a seed of the crawl: seeds are always fetched"
_PORTS = "nothing: such ports are never asked"
_ADDRESS = f"--allow-private, if the address is your own network's; then {_release(Fault.ADDRESS)}"

REMEDIES: Mapping[str, Remedy] = MappingProxyType(
    {
        HoldReason.OUT_OF_SCOPE.label: _scope,
        HoldReason.EXCLUDED.label: _says(
            "--exclude without the pattern; canonry scope test URL tries patterns"
        ),
        HoldReason.NOT_INCLUDED.label: _says(
            "--include with a pattern that matches it; canonry scope test URL tries patterns"
        ),
        HoldReason.TOO_DEEP.label: _deeper,
        HoldReason.TOO_MANY_HOPS.label: lambda case: (
            f"max_hops in [crawl] of --config: {case.hops} or more "
            f"(it was {case.settings.crawl.max_hops})"
        ),
        HoldReason.TOO_LONG.label: _longer,
        HoldReason.TOO_MANY_SEGMENTS.label: _says(_SEED),
        HoldReason.REPEATING_PATH.label: _says(_SEED),
        HoldReason.OTHER_TYPE.label: lambda case: (
            f"--only-types with its type (it was {', '.join(case.settings.fetch.only_types)})"
        ),
        HoldReason.PATTERN_BUDGET.label: _budget(HoldReason.PATTERN_BUDGET),
        HoldReason.HOST_BUDGET.label: _budget(HoldReason.HOST_BUDGET),
        HoldReason.DOMAIN_BUDGET.label: _budget(HoldReason.DOMAIN_BUDGET),
        HoldReason.PORT.label: _says(_PORTS),
        HoldReason.ROBOTS.label: _says(
            f"the owner of the site; if the file has changed, {_release(HoldReason.ROBOTS)}"
        ),
        HoldReason.USE_RESERVED.label: lambda case: (
            f"another crawl.purpose in --config (it was {', '.join(case.settings.crawl.purpose)})"
        ),
        HoldReason.SCHEME.label: _says("nothing: it is not a web page"),
        HoldReason.LEARNED.label: _rules,
        HoldReason.RECORD.label: _says("nothing: there is no URL to fetch"),
        HoldReason.WALL.label: _says(
            "the site, when it shows the page; a run an hour or more later asks again, and "
            f"{_release(HoldReason.WALL)} at once"
        ),
        HoldReason.HOST_BLOCKED.label: lambda case: f"canonry hosts unblock {host_of(case.url)}",
        HoldReason.PATTERN_EXCLUDED.label: _include,
        HoldReason.UNDISCOVERED.label: _says("the engine puts it when it finds it"),
        HoldReason.DELETED.label: _says("the engine puts it again"),
        HoldReason.LONG_GONE.label: _says(
            "a link, once it is forgotten: 30 days after an export said so"
        ),
        HoldReason.OURS.label: _says("the next crawl asks it again"),
        Fault.DNS.label: _says(f"a name that this machine can resolve; then {_SAME}"),
        Fault.ADDRESS.label: lambda case: _ADDRESS if refused_port(case.url) is None else _PORTS,
        Fault.CONNECT.label: _says(_SAME),
        Fault.PROXY.label: _says("--proxy URL, or none; then the same crawl command again"),
        Fault.TLS.label: _says(
            f"--ca-file, if the authority is your own; then {_release(Fault.TLS)}"
        ),
        Fault.TIMEOUT.label: lambda case: (
            f"timeout in [fetch] of --config: more than {case.settings.fetch.timeout:g} seconds; "
            f"then {_release(Fault.TIMEOUT)}"
        ),
        Fault.PROTOCOL.label: _says(_release(Fault.PROTOCOL)),
        Fault.BODY.label: _says(_release(Fault.BODY)),
        Fault.TOO_LARGE.label: lambda case: (
            f"max_body in [fetch] of --config: more than {case.settings.fetch.max_body:,} bytes; "
            f"then {_release(Fault.TOO_LARGE)}"
        ),
        Fault.SERVER.label: _says(_release(Fault.SERVER)),
        Fault.OUTAGE.label: _says("the site, when it shows the page; the next recrawl asks again"),
        Fault.LOOP.label: _says(_release(Fault.LOOP)),
        Fault.ROBOTS_UNREACHABLE.label: _says(_SAME),
    }
)
_REFUSED = _says(f"a server that listens there: check the port, and http or https; then {_SAME}")
_SENTENCES = MappingProxyType({one.label: one.value for one in (*HoldReason, *Fault)})


def remedy(reason: str, case: Case) -> str | None:
    """Return what lifts a reason; None if we know of nothing.

    Args:
        reason: the name that the store uses, perhaps with its cause: ``robots-unreachable: dns``.
        case: the URL that is not fetched.
    """
    label, _, cause = reason.partition(": ")
    cause = cause.partition(",")[0]
    found = (
        _REFUSED if cause == "connection refused" else REMEDIES.get(cause) or REMEDIES.get(label)
    )
    return None if found is None else found(case)


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
    found = _SENTENCES.get(label)
    kind, _, more = cause.partition(", ")
    words = [found, _SENTENCES.get(kind, kind), more]
    return found and ": ".join(word for word in words if word)

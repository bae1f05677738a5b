"""A web whose truth is known: hosts with habits, exceptions and malice, and a crawl over it.

Every host has pages, and names for each of them. What a name answers at a time is a function; so is
which page it truly is. The crawl asks with the same learner and the same rules as the real one.
"""

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from canon import Canonicalizer, LearnedRule, RuleSet
from canon.rules import follow
from crawler.learn.learner import Answered, Learner, Moved
from crawler.learn.thresholds import load
from crawler.scope import registrable

POLICY = "web/1"
_IDENTITY = Canonicalizer("web").identity
_SECTIONS = ("docs", "news", "shop", "people", "Help", "archive")


class Answer(NamedTuple):
    """What a host says to a request."""

    status: int
    target: str | None = None
    body: str = ""


@dataclass
class Host:
    """A host: what its links look like, what it answers, and what is true of it."""

    kind: str
    name: str
    links: list[str]
    answer: Callable[[str, float], Answer]
    truth: Callable[[str, float], object]
    honest: bool = True


def _body(name: object) -> str:
    return f"the page {name}"


# Each habit: from a page's URL to another name of it, and back, and how the host treats it.
Habit = tuple[str, Callable[[str], str], Callable[[str], str], str]


def _habits(host: str, rng: random.Random) -> list[Habit]:
    """Return all habits that a host may have; the last word is "redirect" or "body"."""
    either = rng.choice(("redirect", "body"))
    old = f"/{rng.choice(('old', 'v1', 'content/cms'))}/"
    return [
        (
            "scheme",
            lambda u: u.replace("https:", "http:"),
            lambda u: u.replace("http:", "https:"),
            "redirect",
        ),
        (
            "www",
            lambda u: u.replace("//www.", "//"),
            lambda u: u if "//www." in u else u.replace("//", "//www.", 1),
            "redirect",
        ),
        ("slash", lambda u: u + "/", lambda u: u.removesuffix("/"), "redirect"),
        ("index", lambda u: u + "/index.php", lambda u: u.removesuffix("/index.php"), either),
        ("case", lambda u: _upper(u), lambda u: _lower(u), rng.choice(("redirect", "body"))),
        (
            "param",
            lambda u: f"{u}?ref={rng.randrange(9)}",
            lambda u: u.partition("?ref=")[0],
            either,
        ),
        (
            "prefix",
            lambda u: u.replace(f"{host}/", f"{host}{old}", 1),
            lambda u: u.replace(f"{host}{old}", f"{host}/", 1),
            "redirect",
        ),
        (
            "slashes",
            lambda u: "//".join(u.rsplit("/", 1)),
            lambda u: (
                "https://" + u[8:].replace("//", "/")
                if u.startswith("https://")
                else "http://" + u[7:].replace("//", "/")
            ),
            "body",
        ),
    ]


def _upper(url: str) -> str:
    head, slash, last = url.rpartition("/")
    return f"{head}{slash}{last.capitalize()}"


def _lower(url: str) -> str:
    head, slash, last = url.rpartition("/")
    return f"{head}{slash}{last.lower()}"


def honest(
    n: int,
    rng: random.Random,
    *,
    exceptions: float = 0.0,
    mixed: bool = False,
    turns_at: float | None = None,
) -> Host:
    """Return a host with a few habits that hold: everywhere, in one half, but for some, or until."""
    name = f"www.site{n}.com"
    chosen = rng.sample(_habits(name, rng), rng.choice((1, 1, 2, 3)))
    if {"index", "slash"} <= {habit[0] for habit in chosen}:
        chosen = [habit for habit in chosen if habit[0] != "index"]
    sections = [section.lower() for section in _SECTIONS]
    pages = [f"https://{name}/{rng.choice(sections)}/{word}" for word in _words(rng, 800)]
    mixed_in = set(sections[:3])
    aliases: dict[str, tuple[str, str]] = {}
    others: set[str] = set()
    links = []
    for page in pages:
        names = [page]
        section = page.split("/")[3]
        for _ in range(2):
            _, forth, back, how = rng.choice(chosen)
            other = forth(page)
            if other in aliases or other in pages:
                continue
            names.append(other)
            if rng.random() < exceptions or (mixed and section in mixed_in):
                others.add(other)  # a page of its own
            else:
                aliases[other] = (back(other), how)
        links += names
    rng.shuffle(links)

    def resolve(url: str, at: float) -> tuple[str, str]:
        if turns_at is not None and at > turns_at:
            return url, ""
        return aliases.get(url, (url, ""))

    def answer(url: str, at: float) -> Answer:
        page, how = resolve(url, at)
        if page == url or how == "body":
            return Answer(200, body=_body(page))
        return Answer(301, page)

    return Host(
        "turning" if turns_at else "mixed" if mixed else "exceptions" if exceptions else "honest",
        name,
        links,
        answer,
        lambda url, at: resolve(url, at)[0],
    )


def _words(rng: random.Random, count: int) -> list[str]:
    return [f"{rng.choice('abcdefgh')}page{rng.randrange(10**6)}" for _ in range(count)]


def _plain(
    n: int,
    rng: random.Random,
    kind: str,
    answer: Callable[[str, float], Answer],
    variants: Callable[[str], list[str]],
    truth: Callable[[str, float], object] = lambda url, _at: url,
) -> Host:
    name = f"{kind}{n}.org"
    pages = [f"http://{name}/{rng.choice(_SECTIONS)}/{word}" for word in _words(rng, 300)]
    links = [url for page in pages for url in (page, *variants(page))]
    rng.shuffle(links)
    return Host(kind, name, links, answer, truth, honest=False)


def _https(url: str) -> str:
    return url.replace("http:", "https:")


def adversaries(n: int, rng: random.Random) -> Iterator[Host]:
    """Yield hosts that look as if something could be learned, and nothing may be."""
    slashed = lambda u: [u + "/"]  # noqa: E731 - a column of a table
    secure = lambda u: [_https(u)]  # noqa: E731 - same
    # Everything leads home.
    yield _plain(
        n,
        rng,
        "sink",
        lambda u, _t: (
            Answer(301, "https://" + u.split("/")[2] + "/")
            if u.startswith("http:")
            else Answer(200, body=_body(u))
        ),
        secure,
    )
    # Everything leads to a wall.
    yield _plain(
        n,
        rng,
        "wall",
        lambda u, _t: (
            Answer(301, f"{_https(u)[:30].rpartition('/')[0]}/login?next={u}")
            if u.startswith("http:")
            else Answer(200, body=_body(u))
        ),
        secure,
    )
    # One page for whatever is asked that is not there, and everything with a slash is not.
    yield _plain(
        n,
        rng,
        "soft404",
        lambda u, _t: Answer(200, body="sorry") if u.endswith("/") else Answer(200, body=_body(u)),
        slashed,
    )
    # A language is put in; another visitor would see another one.
    yield _plain(
        n,
        rng,
        "locale",
        lambda u, _t: (
            Answer(301, u.replace(".org/", ".org/de/"))
            if "/de/" not in u
            else Answer(200, body=_body(u))
        ),
        lambda u: [u.replace(".org/", ".org/fr/")],
    )
    # For half an hour everything is elsewhere.
    yield _plain(
        n,
        rng,
        "burst",
        lambda u, t: (
            Answer(301, u.replace("http://", "https://spare-"))
            if 50 < t < 150 and u.startswith("http:")
            else Answer(200, body=_body(u))
        ),
        lambda u: [u.replace("http://", "https://spare-")],
    )
    # Two names lead to each other, now so and now so.
    yield _plain(
        n,
        rng,
        "flapping",
        lambda u, _t: (
            Answer(301, u + "/")
            if not u.endswith("/") and rng.random() < 0.5
            else Answer(301, u[:-1])
            if u.endswith("/") and rng.random() < 0.5
            else Answer(200, body=_body(u))
        ),
        slashed,
    )
    # Letters, slashes and parameters matter.
    yield _plain(
        n,
        rng,
        "strict",
        lambda u, _t: Answer(200, body=_body(u)),
        lambda u: [u + "/", _upper(u), u + "?v=1", u + "?v=2", _https(u)],
    )
    # A parameter that selects nothing on most pages, and on some it does.
    yield _plain(
        n,
        rng,
        "selects",
        lambda u, _t: Answer(
            200, body=_body(u if hash(u.partition("?")[0]) % 5 == 0 else u.partition("?")[0])
        ),
        lambda u: [u + "?v=1", u + "?v=2"],
        lambda u, _t: u if hash(u.partition("?")[0]) % 5 == 0 else u.partition("?")[0],
    )
    # Temporary redirects, for ever.
    yield _plain(
        n,
        rng,
        "temporary",
        lambda u, _t: (
            Answer(302, _https(u)) if u.startswith("http:") else Answer(200, body=_body(u))
        ),
        secure,
    )
    # What has moved to https is gone there.
    yield _plain(
        n,
        rng,
        "gone",
        lambda u, _t: Answer(301, _https(u)) if u.startswith("http:") else Answer(410),
        secure,
    )
    # All pages of a kind have one body.
    yield _plain(
        n,
        rng,
        "forms",
        lambda u, _t: Answer(200, body="form" if "Help" in u else _body(u)),
        lambda u: [u + "?step=1", u + "?step=2"],
    )


@dataclass
class Found:
    """What a crawl over hosts came to; pairs are (what was dropped, for what, when)."""

    fetched: int = 0
    merged: int = 0
    wrong: list[tuple[str, str, str]] = field(default_factory=list)
    avoided: int = 0  # of what could be, after a host's first two hundred fetches
    repeated: int = 0
    by_kind: dict[str, list[int]] = field(default_factory=dict)  # merged, wrong
    repeats: dict[str, int] = field(default_factory=dict)
    learned: dict[str, int] = field(default_factory=dict)  # by kind of host, rules ever active
    lost: list[str] = field(default_factory=list)


def crawl(hosts: list[Host], warm: int = 200) -> Found:
    """Crawl hosts, one second a fetch, as the real crawl does; learn, drop, and take back."""
    found = Found()
    for host in hosts:
        _crawl_host(host, found, warm)
    return found


def _crawl_host(host: Host, found: Found, warm: int) -> None:
    bodies: dict[str, tuple[str, bytes]] = {}

    def recall(identity: str) -> tuple[str, bytes] | None:
        return bodies.get(classes.get(identity, identity))

    learner = Learner(load(), registrable, recall=recall)
    active: dict[object, LearnedRule] = {}
    rules = RuleSet((), POLICY)
    classes: dict[str, str] = {}
    known: set[str] = set()
    claimed: set[object] = set()
    dropped: list[str] = []
    queue = list(host.links)
    place = fetched = 0
    over = False
    at = 0.0
    tally = found.by_kind.setdefault(host.kind, [0, 0])
    while place < len(queue) or dropped:
        if place >= len(queue):  # the end: take every rule back, and see what is left
            queue, dropped = queue + dropped, []
            for url in queue[place:]:
                known.discard(url)
            rules, active, classes = RuleSet((), POLICY), {}, {}
            over = True
        url = queue[place]
        place += 1
        if url in known:
            continue
        known.add(url)
        identity = _IDENTITY(url)
        followed = follow(rules, identity, _IDENTITY)
        one = classes.get(followed.identity)
        if one is None and followed.changes and followed.identity in known:
            one = followed.identity
        acting = followed.rules or tuple(rules.on(host.name))[:1]
        if one is not None and one != url and not learner.is_verified(acting, identity, at):
            found.merged += 1
            tally[0] += 1
            if host.truth(url, at) == host.truth(one, at):
                found.avoided += fetched > warm
            else:
                tally[1] += 1
                found.wrong.append((host.kind, url, one))
            dropped.append(url)
            continue
        if followed.changes:
            classes.setdefault(followed.identity, url)
        page = host.truth(url, at)
        if page in claimed and fetched > warm and not over and host.honest:
            found.repeated += 1
            found.repeats[host.kind] = found.repeats.get(host.kind, 0) + 1
        claimed.add(page)
        fetched += 1
        at += 1.0
        for target in _fetch(host, url, at, learner, bodies):
            fetched += target not in known
            known.add(target)
            claimed.add(host.truth(target, at))
        _, moved = learner.settle(at)
        released = False
        for transition in () if over else moved:
            case = transition.case
            if case.state == "active":
                active[case.lesson] = case.rule()
                found.learned[host.kind] = found.learned.get(host.kind, 0) + 1
            else:
                active.pop(case.lesson, None)
                if case.state in {"revoked", "frozen"} and transition.before in {
                    "active",
                    "suspended",
                }:
                    released = True
            rules = RuleSet(active.values(), POLICY)
        if moved and not over:
            classes = {}
            for other in known - set(dropped):
                changed = follow(rules, _IDENTITY(other), _IDENTITY)
                if changed.changes:
                    classes.setdefault(changed.identity, other)
        if released:
            kept = [other for other in dropped if _is_explained(other, rules, known, classes)]
            again = [other for other in dropped if other not in set(kept)]
            known.difference_update(again)
            queue[place:place], dropped = again, kept
    found.fetched += fetched
    if host.kind != "turning":  # there a name that was asked once has become another page since
        missing = {host.truth(url, at) for url in host.links} - claimed
        found.lost += [str(page) for page in missing]


def _is_explained(url: str, rules: RuleSet, known: set[str], classes: dict[str, str]) -> bool:
    """Say whether rules still make a URL the same as one that is kept."""
    identity = follow(rules, _IDENTITY(url), _IDENTITY).identity
    return identity in classes or (identity != url and identity in known)


def _fetch(
    host: Host, url: str, at: float, learner: Learner, bodies: dict[str, tuple[str, bytes]]
) -> Iterator[str]:
    """Ask for a URL and for what it leads to; tell the learner; yield the targets."""
    chain = [url]
    answer = host.answer(url, at)
    while answer.target is not None and answer.target not in chain and len(chain) < 5:
        chain.append(answer.target)
        yield answer.target
        permanent, answer = answer.status == 301, host.answer(answer.target, at)
        if not permanent:
            return
    if answer.status != 200:
        return
    for source, target in zip(chain, chain[1:], strict=False):
        learner.hear(Moved(_IDENTITY(source), _IDENTITY(target), at))
    digest = hashlib.blake2b(answer.body.encode(), digest_size=16).digest()
    bodies[_IDENTITY(chain[-1])] = chain[-1], digest
    learner.hear(Answered(_IDENTITY(chain[-1]), digest, at))


def web(seed: int, size: int) -> list[Host]:
    """Return a web of hosts: most of them honest, some not quite, and every adversary."""
    rng = random.Random(seed)
    hosts = [honest(n, rng) for n in range(size)]
    hosts += [
        honest(1000 + n, rng, exceptions=rng.choice((0.002, 0.01, 0.03, 0.1)))
        for n in range(size // 10)
    ]
    hosts += [honest(2000 + n, rng, mixed=True) for n in range(size // 10)]
    hosts += [honest(3000 + n, rng, turns_at=600) for n in range(size // 50)]
    for n in range(max(1, size // 20)):
        hosts += adversaries(n, rng)
    return hosts

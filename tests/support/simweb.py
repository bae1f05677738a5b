"""A simulated web, where it is known which URLs are equal, and a crawl over it.

Every host has pages, and several URLs for each of them. What a URL answers at a time is a function;
so is the page that it truly is. The crawl uses the same learner and rules as a real one.
"""

import hashlib
import random
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from canonry.canon import Canonicalizer, RuleSet
from canonry.canon.learned import follow
from canonry.crawler.admission.scope import registrable
from canonry.crawler.learn.evidence.body_comparison import Answered
from canonry.crawler.learn.learner import Learner, Moved
from canonry.crawler.learn.life.thresholds import load
from canonry.storage.learned.tracked_rule import TrackedRule

POLICY = "web/1"
_LIMITS = load()
_OK, _PERMANENT, _HOPS = 200, 301, 5
_IDENTITY = Canonicalizer("web").identity
_SECTIONS = ("docs", "news", "shop", "people", "Help", "archive")


class Answer(NamedTuple):
    """A host's answer to a request."""

    status: int
    target: str | None = None
    body: str = ""


@dataclass
class Host:
    """A host: its links, its answers, and which URLs are truly the same page."""

    kind: str
    name: str
    links: list[str]
    answer: Callable[[str, float], Answer]
    truth: Callable[[str, float], object]
    honest: bool = True


def _body(name: object) -> str:
    return f"the page {name}"


Respond = Callable[[str, float], Answer]
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
        ("case", _upper, _lower, rng.choice(("redirect", "body"))),
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
    """Return a host with a few habits: always, with exceptions, in one half, or until a time."""
    name = f"www.site{n}.com"
    chosen = rng.sample(_habits(name, rng), rng.choice((1, 1, 2, 3)))
    if {"index", "slash"} <= {habit[0] for habit in chosen}:
        chosen = [habit for habit in chosen if habit[0] != "index"]
    sections = [section.lower() for section in _SECTIONS]
    pages = [f"https://{name}/{rng.choice(sections)}/{word}" for word in _words(rng, 800)]
    mixed_in = set(sections[:3])
    aliases: dict[str, tuple[str, str]] = {}
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
            own = rng.random() < exceptions or (mixed and section in mixed_in)
            if not own:  # else it is a page of its own
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


def _https(url: str) -> str:
    return url.replace("http:", "https:")


def _page(url: str) -> Answer:
    return Answer(_OK, body=_body(url))


def _if_http(target: Callable[[str], str], status: int = _PERMANENT) -> Respond:
    """Answer http with a redirect, and https with a page."""
    return lambda u, _t: Answer(status, target(u)) if u.startswith("http:") else _page(u)


def _selected(url: str, _at: float = 0.0) -> str:
    """Return the page of a URL: on one of five pages, the parameter selects content."""
    page = url.partition("?")[0]
    return url if zlib.crc32(page.encode()) % 5 == 0 else page


def _spare(url: str) -> str:
    return url.replace("http://", "https://spare-")


class Adversary(NamedTuple):
    """A host from which something seems to be learnable, and nothing may be learned."""

    kind: str
    answer: Respond
    names: Callable[[str], list[str]]  # of a page, besides its own
    truth: Callable[[str, float], object] = lambda url, _at: url


def _adversaries(rng: random.Random) -> tuple[Adversary, ...]:
    """Return the table of adversaries."""

    def flapping(url: str, _at: float) -> Answer:
        other = url[:-1] if url.endswith("/") else url + "/"
        return Answer(_PERMANENT, other) if rng.random() < 0.5 else _page(url)

    def burst(url: str, at: float) -> Answer:
        away = 50 < at < 150 and url.startswith("http:")
        return Answer(_PERMANENT, _spare(url)) if away else _page(url)

    def soft404(url: str, _at: float) -> Answer:
        return Answer(_OK, body="sorry") if url.endswith("/") else _page(url)

    def locale(url: str, _at: float) -> Answer:
        here = url.replace(".org/", ".org/de/")
        return _page(url) if "/de/" in url else Answer(_PERMANENT, here)

    def bounce(url: str, _at: float) -> Answer:  # without its cookie, for ever
        other = url.removesuffix("?c=1") if url.endswith("?c=1") else url + "?c=1"
        return Answer(_PERMANENT, other)

    def forms(url: str, _at: float) -> Answer:
        return Answer(_OK, body="form") if "/Help/" in url else _page(url)

    def gone(url: str, _at: float) -> Answer:
        return Answer(_PERMANENT, _https(url)) if url.startswith("http:") else Answer(410)

    secure = [_https]
    return (
        Adversary("sink", _if_http(lambda u: f"https://{u.split('/')[2]}/"), _names(*secure)),
        Adversary(
            "wall",
            _if_http(lambda u: f"https://{u.split('/')[2]}/login?next={u}"),
            _names(*secure),
        ),
        Adversary("temporary", _if_http(_https, 302), _names(*secure)),
        Adversary("gone", gone, _names(*secure)),
        Adversary("soft404", soft404, _names(lambda u: u + "/")),
        Adversary("locale", locale, _names(lambda u: u.replace(".org/", ".org/fr/"))),
        Adversary("burst", burst, _names(_spare)),
        Adversary("flapping", flapping, _names(lambda u: u + "/")),
        Adversary("bounce", bounce, _names(lambda u: u + "?c=1")),
        Adversary("forms", forms, _names(lambda u: u + "?step=1", lambda u: u + "?step=2")),
        Adversary(
            "strict",
            lambda u, _t: _page(u),
            _names(lambda u: u + "/", _upper, lambda u: u + "?v=1", lambda u: u + "?v=2", _https),
        ),
        Adversary(
            "selects",
            lambda u, _t: _page(_selected(u)),
            _names(lambda u: u + "?v=1", lambda u: u + "?v=2"),
            _selected,
        ),
    )


def _names(*forth: Callable[[str], str]) -> Callable[[str], list[str]]:
    return lambda url: [name(url) for name in forth]


def adversaries(n: int, rng: random.Random) -> Iterator[Host]:
    """Yield one host of each kind."""
    for kind, answer, names, truth in _adversaries(rng):
        name = f"{kind}{n}.org"
        pages = [f"http://{name}/{rng.choice(_SECTIONS)}/{word}" for word in _words(rng, 300)]
        links = [url for page in pages for url in (page, *names(page))]
        rng.shuffle(links)
        yield Host(kind, name, links, answer, truth, honest=False)


@dataclass
class CrawlResult:
    """The result of a crawl over hosts."""

    fetched: int = 0
    merged: int = 0  # URLs that active rules held
    wrong: list[tuple[str, str, str]] = field(
        default_factory=list
    )  # kind of host, held URL, its representative
    avoided: int = (
        0  # rightly held after a host's first fetches: an all-knowing crawler avoids these
    )
    repeated: int = 0  # fetches that it would have avoided, too
    by_kind: Counter[str] = field(default_factory=Counter)  # held URLs
    active: Counter[str] = field(default_factory=Counter)  # rules that ever were, by kind of host
    lost: list[str] = field(default_factory=list)


def crawl(hosts: list[Host], warm: int = 200) -> CrawlResult:
    """Crawl hosts, one fetch a second, as a real crawl does: learn, hold and release."""
    found = CrawlResult()
    for host in hosts:
        _Crawl(host, found, warm).run()
    return found


class _Crawl:
    """The crawl of one host: a small model of the store, the frontier and the visits."""

    def __init__(self, host: Host, found: CrawlResult, warm: int) -> None:
        self.host = host
        self.found = found
        self.warm = warm
        self.learner = Learner(_LIMITS, registrable, self)
        self.rules = RuleSet((), POLICY)
        self.classes: dict[str, str] = {}  # from what rules make to its representative
        self.known: set[str] = set()
        self.claimed: set[object] = set()  # true pages that were requested
        self.held: list[str] = []
        self.bodies: dict[str, tuple[str, bytes]] = {}
        self.queue = deque(host.links)
        self.fetched = 0
        self.over = False  # in the end all rules are revoked, to see whether every page is found
        self.at = 0.0

    def run(self) -> None:
        """Crawl to the end; then crawl what was held once more, without rules."""
        while self.queue:
            self.step(self.queue.popleft())
        self.found.fetched += self.fetched
        self.over, self.rules, self.classes = True, RuleSet((), POLICY), {}
        self.known.difference_update(self.held)
        for url in self.held:
            self.step(url)
        if self.host.kind != "turning":  # its URLs became other pages after they were fetched
            missing = {self.host.truth(url, self.at) for url in self.host.links} - self.claimed
            self.found.lost += map(str, missing)

    def step(self, url: str) -> None:
        """Hold a link to a known page, or fetch it and learn."""
        if url in self.known:
            return
        self.known.add(url)
        followed = follow(self.rules, _IDENTITY(url), _IDENTITY)
        one = self.classes.get(followed.identity)
        if one is None and followed.changes and followed.identity in self.known:
            one = followed.identity
        acting = followed.rules or self.rules.on(self.host.name)[:1]
        if one not in {None, url} and not self.learner.is_verified(
            acting, followed.identity, self.at
        ):
            self.hold(url, str(one))
            return
        if followed.changes:
            self.classes.setdefault(followed.identity, url)
        self.fetch(url)
        self.decide()

    def hold(self, url: str, one: str) -> None:
        """Count a held URL, and whether that is right at this time."""
        found, host = self.found, self.host
        found.merged += 1
        found.by_kind[host.kind] += 1
        self.held.append(url)
        if host.truth(url, self.at) == host.truth(one, self.at):
            found.avoided += self.fetched > self.warm
        else:
            found.wrong.append((host.kind, url, one))

    def fetch(self, url: str) -> None:
        """Fetch a URL and the chain of its redirects, and pass them to the learner."""
        page = self.host.truth(url, self.at)
        again = page in self.claimed and self.fetched > self.warm
        self.found.repeated += again and self.host.honest and not self.over
        self.claim(url)
        chain = [url]
        answer = self.host.answer(url, self.at)
        while answer.target is not None and answer.target not in chain and len(chain) < _HOPS:
            permanent = answer.status == _PERMANENT
            chain.append(answer.target)
            if answer.target not in self.known:
                self.claim(answer.target)
            answer = self.host.answer(answer.target, self.at)
            if not permanent:
                return
        if answer.status != _OK:
            return
        for source, target in pairwise(chain):
            self.learner.observe(Moved(_IDENTITY(source), _IDENTITY(target), self.at))
        digest = hashlib.blake2b(answer.body.encode(), digest_size=16).digest()
        self.bodies[_IDENTITY(chain[-1])] = chain[-1], digest
        self.learner.observe(Answered(_IDENTITY(chain[-1]), digest, self.at))

    def claim(self, url: str) -> None:
        """Count a request."""
        self.known.add(url)
        self.claimed.add(self.host.truth(url, self.at))
        self.fetched += 1
        self.at += 1.0

    def decide(self) -> None:
        """Apply what the learner decided to the URLs that are known."""
        changes = self.learner.decide(self.at).state_changes
        if not changes or self.over:
            return
        changed = [change.rule for change in changes]
        self.found.active[self.host.kind] += sum(rule.state == "active" for rule in changed)
        active = {rule.rewrite: rule for rule in self.rules.active}
        for rule in changed:
            active.pop(rule.rewrite, None)
            if rule.state == "active":
                active[rule.rewrite] = rule.as_learned()
        self.rules = RuleSet(active.values(), POLICY)
        self.classes = {}
        for url in self.known.difference(self.held):
            followed = follow(self.rules, _IDENTITY(url), _IDENTITY)
            if followed.changes:
                self.classes.setdefault(followed.identity, url)
        if any(rule.state in {"revoked", "frozen"} for rule in changed):
            kept = set(filter(self.is_explained, self.held))
            again = [url for url in self.held if url not in kept]
            self.held = [url for url in self.held if url in kept]
            self.known.difference_update(again)
            self.queue.extendleft(again)

    def is_explained(self, url: str) -> bool:
        """Return True if rules still merge a URL with a known one."""
        identity = follow(self.rules, _IDENTITY(url), _IDENTITY).identity
        return identity in self.classes or (identity != url and identity in self.known)

    def rules_of(self, host: str) -> list[TrackedRule]:
        """Return no rules: the learner never forgets the one host."""
        del host
        return []

    def body_of(self, identity: str) -> tuple[str, bytes] | None:
        """Return the URL that was fetched for an identity, and its body's digest."""
        return self.bodies.get(self.classes.get(identity, identity))

    def body_by_rules(self, identity: str) -> tuple[str, bytes] | None:
        """Return the same, if it was fetched because of rules."""
        return self.body_of(identity) if identity in self.classes else None


def web(seed: int, size: int) -> list[Host]:
    """Return a web of hosts: most of them honest, some not quite, and every adversary.

    One of a dozen has exceptions to its habits, one of a dozen has them in one half only, and one
    of two hundred changes altogether in the middle of its crawl.
    """
    rng = random.Random(seed)
    hosts = [honest(n, rng) for n in range(size)]
    hosts += [
        honest(1000 + n, rng, exceptions=rng.choice((0.002, 0.01, 0.03, 0.1)))
        for n in range(size // 10)
    ]
    hosts += [honest(2000 + n, rng, mixed=True) for n in range(size // 10)]
    hosts += [
        honest(3000 + n, rng, turns_at=rng.uniform(400, 1500)) for n in range(max(1, size // 200))
    ]
    for n in range(max(1, size // 20)):
        hosts += adversaries(n, rng)
    return hosts

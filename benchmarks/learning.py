"""How many learned rules are right, how much do they suppress, and what does learning cost?"""

import argparse
import gzip
import hashlib
import os
import random
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import crawl
import msgspec
import simulated
from measure import keep
from support.simweb.webmatter import MATTERS

from canonry.canon import Canonicalizer, InvalidURL, LearnedRule
from canonry.canon.learned import Rewrite, act, to_fields
from canonry.canon.syntax import Parts
from canonry.crawler.files import captures
from canonry.crawler.learn import mine
from canonry.crawler.learn.decision import decide, needed_for
from canonry.crawler.learn.learned_site import LearnedSite
from canonry.crawler.learn.rules.infer import rewrites_from
from canonry.crawler.learn.text.comparison import PageAnswer

_WEB = Canonicalizer("web")
Pairs = list[tuple[str, str]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", help="redirects: file, old URL, new URL, status; tabs, gzip")
    parser.add_argument("--seeds", type=int, default=1, help="simulated webs")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument(
        "--hosts",
        type=int,
        default=44,
        help="hosts of each, without adversaries; the press web always has all of its own",
    )
    parser.add_argument("--resources", type=int, default=400, help="of each host")
    parser.add_argument("--big", type=int, default=0, help="resources of one more host")
    parser.add_argument("--press", action="store_true", help="the press web (without --hosts)")
    parser.add_argument(
        "--matter",
        choices=[*MATTERS, "every"],
        default="prose",
        help="what pages are made of; every: each site of a web has one of these",
    )
    parser.add_argument(
        "--minutes", type=float, default=10, help="a crawl is stopped after these; not for --serve"
    )
    parser.add_argument("--only-web", action="store_true", help="measure nothing but the webs")
    parser.add_argument(
        "--only-learning", action="store_true", help="do not crawl without learning"
    )
    parser.add_argument("--serve", type=int, metavar="PORT", help="serve a web to another crawler")
    parser.add_argument("--folder", default="simulated-web", help="for --serve: log, seeds ...")
    parser.add_argument("--judge", metavar="LOG", help="judge the log of a served web")
    parser.add_argument("--redirects", type=int, default=1_000_000)
    parser.add_argument("--keep", action="store_true", help="write the raw run to benchmarks/runs/")
    given = parser.parse_args()
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    sizes = given.hosts, given.resources, given.big
    matter = [*MATTERS, "every"].index(given.matter)
    specs = [simulated.Spec(seed, *sizes, press=given.press, matter=matter) for seed in seeds]
    if given.judge is not None:
        simulated.judge(given.judge)
        return
    if given.serve is not None:
        simulated.serve(specs[0], given.serve, Path(given.folder))
        return
    found = simulated.simulated(specs, given.minutes, plain=not given.only_learning)
    results: dict[str, Any] = {"simulated": found}
    if given.only_web:
        keep(given, "learning", [], results)
        return
    results["cost"] = cost(given.redirects)
    results["crawl"] = share()
    urls: list[str] = []
    if given.corpus is not None:
        pairs = _read(given.corpus)
        urls = [old for old, _new in pairs]
        results["real"] = real(pairs)
    keep(given, "learning", urls, results)


def cost(count: int) -> dict[str, Any]:
    """Pass redirects on a thousand hosts to what is known of them, and let them decide."""
    rng = random.Random(1)
    sites = [LearnedSite() for _ in range(1000)]
    before = _mib()
    start = time.process_time()
    for n in range(count):
        number = rng.randrange(1000)
        url = f"http://www.h{number}.example/{rng.choice('abcdef')}/p{n}"
        target = f"{url}/" if rng.random() < 0.9 else f"{url}/moved/elsewhere"
        sites[number].moved(url, 0, target)
        sites[number].page(target, 0, PageAnswer(b"%16d" % n, None), None)
        if n % 16 == 0:
            list(decide(sites[number]))
    seconds = time.process_time() - start
    grown = _mib() - before
    print(
        f"{count:,} redirects on 1,000 hosts: {1e6 * seconds / count:.1f} µs of CPU time each, "
        f"{grown:.0f} MiB more memory at the end"
    )
    return {"redirects": count, "microseconds": 1e6 * seconds / count, "mib": grown}


def share() -> dict[str, Any]:
    """Crawl sites on loopback whose pages have so many URLs; how much of it was learning?"""
    sites = {"one URL": _plain, "three URLs": _renamed, "up to 256 URLs": _mixed}
    return {has: _share(has, site) for has, site in sites.items()}


def _mixed() -> dict[str, crawl.Answer]:
    """Return a site whose links have any of eight parameters that select nothing.

    Each answer has another token.
    """
    names = ("camp", "from", "list", "pos", "ref", "src", "step", "view")
    sets = [some for size in range(len(names) + 1) for some in combinations(names, size)]
    ends = ["".join(f"&{name}=x" for name in some) for some in sets]
    pages: dict[str, crawl.Answer] = {}
    for n in range(150):
        rng = random.Random(n)
        text = " ".join("".join(rng.choices("abcdefgh", k=5)) for _ in range(200))
        links = "".join(
            f'<a href="/p?id={rng.randrange(150)}{rng.choice(ends)}">{k}</a>' for k in range(40)
        )
        body = f"<title>page {n}</title><p>{text}</p>{links}".encode()
        pages |= {f"/p?id={n}{end}": partial(_with_token, body) for end in ends}
    return {**pages, "/p/0.html": b'<a href="/p?id=0">begin</a>'}


def _with_token(body: bytes) -> bytes:
    """Return a page with a new token."""
    return body + b"<p>token %d</p>" % random.getrandbits(40)


def _share(has: str, site: Callable[[], dict[str, crawl.Answer]]) -> dict[str, Any]:
    """Crawl a site with learning and without; print how much of it was learning."""
    found: dict[str, Any] = {}
    with crawl.served(site) as where:
        connect = f"h.example:80:{where}"
        for name, more in (("learning", "true"), ("not learning", "false")):
            before = _cpu_of_children()
            with tempfile.TemporaryDirectory() as folder:
                seed = "http://h.example/p/0.html"
                learn = ("--config", f"learn.enabled={more}")
                done = crawl.canonry(seed, folder, "--connect-to", connect, *learn)
            requests = sum(done["run"][count] for count in ("pages", "redirects", "probes"))
            found[name] = {"requests": requests, "seconds": done["seconds"]}
            found[name]["cpu"] = round(_cpu_of_children() - before, 3)
            found[name]["learning"] = done["run"]["learning"]
    took, plain = found["learning"], found["not learning"]
    print(
        f"a crawl of pages that have {has}: {took['requests']:,} requests in "
        f"{took['seconds']:.1f} s, of these {took['learning']:.2f} s learning "
        f"({100 * took['learning'] / took['seconds']:.1f} %, of "
        f"{took['cpu']:.1f} s of CPU time {100 * took['learning'] / took['cpu']:.1f} %); "
        f"without it {plain['requests']:,} requests in {plain['seconds']:.1f} s, "
        f"{plain['cpu']:.1f} s of CPU time"
    )
    return found


def _cpu_of_children() -> float:
    """Return the CPU time of the processes that this one has waited for, in seconds."""
    spent = os.times()
    return spent.children_user + spent.children_system


def _plain() -> dict[str, crawl.Answer]:
    """Return the site of the crawl's benchmark: there is nothing to learn."""
    return {**crawl.site()}


def _renamed() -> dict[str, crawl.Answer]:
    """Return the site of the crawl's benchmark, with links that redirect or repeat."""
    pages: dict[str, crawl.Answer] = {}
    for n, (path, body) in enumerate(crawl.site().items()):
        pieces = body.split(b'.html"')
        spelled = b"".join(
            piece + (b'.html"', b'.html/"', b'.html?ref=x"')[(n + turn) % 3]
            for turn, piece in enumerate(pieces[:-1])
        )
        spelled += pieces[-1]
        pages[path] = pages[f"{path}?ref=x"] = spelled
        pages[f"{path}/"] = path
    return pages


def _mib() -> float:
    """Return the memory of this process, in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 2**20


def _read(path: str) -> Pairs:
    """Return the permanent redirects of a corpus between different identities."""
    found = []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for pair in captures.read(line.partition("\t")[2] for line in file):
            if pair.status == "301" and pair.redirect:
                try:
                    old = _WEB.identity(pair.url)
                    new = _WEB.identity(pair.redirect, old)
                except InvalidURL:
                    continue
                if old != new:
                    found.append((old, new))
    return found


def real(pairs: Pairs) -> dict[str, Any]:
    """Learn from half of each host's redirects, and evaluate on the other half.

    Thresholds may be tuned on half of the hosts; the others are only for evaluation.
    """
    results = {}
    for place, name in enumerate(("hosts to learn on", "hosts to judge by")):
        chosen = [pair for pair in pairs if _half(pair[0]) == place]
        random.Random(3).shuffle(chosen)
        train, test = chosen[::2], chosen[1::2]
        given = (captures.Capture(n, old, "301", new) for n, (old, new) in enumerate(train))
        candidates = [mine.as_learned(rule) for rule in mine.mine(given, _WEB).rules]
        sure = [rule for rule in candidates if _would_be_active(rule)]
        print(f"{name}: {len(train):,} redirects to learn from, {len(test):,} to predict")
        for what, rules in (
            ("active bar", sure),
            ("candidates", candidates),
            ("naive", _naive(train)),
        ):
            results[f"{name}, {what}"] = _evaluate(what, rules, test)
    return results


def _half(url: str) -> int:
    return hashlib.blake2b(url.split("/")[2].encode()).digest()[0] % 2


def _would_be_active(rule: LearnedRule) -> bool:
    """Return True if the evidence, all of it redirects, is enough for an active rule."""
    seen = rule.evidence
    return seen.agree >= needed_for(rule.rewrite).own_word and not seen.disagree


def _naive(train: Pairs) -> list[LearnedRule]:
    """Learn whatever five redirects support, in spite of any evidence against it."""
    support: Counter[Rewrite] = Counter()
    for old, new in train:
        support.update(rewrites_from(Parts.of(old), Parts.of(new)))
    return [LearnedRule(**to_fields(rewrite)) for rewrite, n in support.items() if n >= 5]


def _evaluate(what: str, rules: Iterable[LearnedRule], test: Pairs) -> dict[str, Any]:
    """Compare what rules predict with where URLs lead, ignoring schemes and final slashes."""
    on: dict[str, list[LearnedRule]] = defaultdict(list)
    for rule in rules:
        on[rule.host].append(msgspec.structs.replace(rule, state="active"))
    right = wrong = 0
    for old, new in test:
        parts = Parts.of(old)
        for rule in on.get(parts.host or "", ()):
            after = act(rule, parts)
            if after is not parts:
                led = Parts.of(new)
                same = (led.host, led.path.rstrip("/"), led.query)
                right += (after.host, after.path.rstrip("/"), after.query) == same
                wrong += (after.host, after.path.rstrip("/"), after.query) != same
                break
    predicted = right + wrong
    print(
        f"  {what:12} {sum(map(len, on.values())):3} rules on {len(on):2} hosts, "
        f"{predicted:5,} predicted ({100 * predicted / len(test):.2f} %), {right:,} right"
        + (f" ({100 * right / predicted:.1f} %)" if predicted else "")
    )
    return {"rules": sum(map(len, on.values())), "predicted": predicted, "right": right}


if __name__ == "__main__":
    main()

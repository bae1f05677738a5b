"""How much of an archive is merged by the rules that are mined from it, and is that right?

Webs are crawled with ``--warc``, without learning. Rules are mined from the WARC files, and from an
index of these (URL, status, digest, redirect) alone; then the URLs of the archive are deduplicated.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import simulated
from measure import keep
from support.simweb import webjudge
from support.simweb.web import Line, Spec, sites
from support.simweb.webmatter import MATTERS
from support.simweb.webserver import served

import canonry
from canonry.crawler.files import captures
from canonry.crawler.files.captures import Capture
from canonry.crawler.learn import mine

_WEB = canonry.Canonicalizer("web")


class Merged(NamedTuple):
    """What became of the URLs of some sites."""

    could: int = 0  # identities beyond the first of each resource
    merged: int = 0
    wrong: int = 0  # resources that were merged with another one


def archive(spec: Spec, folder: Path, minutes: float) -> list[Line]:
    """Crawl a web into WARC files in a folder; return the log of its server."""
    with served(spec, folder) as serving:
        settings = simulated.SETTINGS + simulated.ENDLESS * spec.press
        (folder / "settings.toml").write_text(settings, encoding="utf-8")
        words = ["--config", "learn.enabled=false", "--warc", str(folder / "warc")]
        simulated.run(serving, folder, words, 60 * minutes)
        time.sleep(simulated.FLUSHED)
    with serving.log_file.open(encoding="utf-8") as log:
        return list(webjudge.read(log)[1])


def of_warc(folder: Path) -> Iterator[Capture]:
    """Yield the captures of WARC files."""
    for file in sorted((folder / "warc").iterdir()):
        with file.open("rb") as stream:
            yield from captures.read_warc(stream)


def of_index(folder: Path) -> Iterator[Capture]:
    """Yield the same as an index has them."""
    lines = []
    for one in of_warc(folder):
        facts = {
            "url": one.url,
            "status": one.status,
            "digest": one.digest,
            "redirect": one.redirect,
        }
        lines.append(f"example,h)/ 20260101000000 {json.dumps(facts)}")
    return captures.read(lines)


def judged(
    spec: Spec, lines: Iterable[Line], rules: canonry.RuleSet
) -> dict[tuple[str, bool], Merged]:
    """Return what rules merge, by kind of site and whether it is dynamic."""
    make = canonry.Canonicalizer("web", rules)
    by_host = {host: site for site in sites(spec) for host in site.hosts}
    resources: dict[str, dict[str, str]] = defaultdict(dict)
    for line in lines:
        is_url = line.url.startswith(("http://", "https://"))
        if is_url and line.host in by_host and line.resource not in {"-", "robots"}:
            home = by_host[line.host].home
            resources[home].setdefault(_WEB.identity(line.url), line.resource)
    found: dict[tuple[str, bool], Merged] = defaultdict(Merged)
    for home, of_identity in resources.items():
        site = by_host[home.split("/")[2]]
        groups = defaultdict(set)
        for identity, resource in of_identity.items():
            groups[make.identity(identity)].add(resource)
        counts = (
            len(of_identity) - len(set(of_identity.values())),
            len(of_identity) - len(groups),
            sum(len(one) - 1 for one in groups.values()),
        )
        kind = site.kind if site.honest else f"(adversary) {site.kind}"
        key = kind, site.frame.dynamic
        found[key] = Merged(*map(sum, zip(found[key], counts, strict=True)))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.set_defaults(corpus=None)
    parser.add_argument("--seeds", type=int, default=1, help="simulated webs")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--hosts", type=int, default=44)
    parser.add_argument("--resources", type=int, default=400, help="of each host")
    parser.add_argument("--press", action="store_true", help="the press web")
    parser.add_argument("--matter", choices=[*MATTERS, "every"], default="prose")
    parser.add_argument("--minutes", type=float, default=10, help="a crawl is stopped after these")
    parser.add_argument("--verbose", action="store_true", help="print a line for each kind of site")
    parser.add_argument("--keep", action="store_true", help="write the raw run to benchmarks/runs/")
    given = parser.parse_args()
    matter = [*MATTERS, "every"].index(given.matter)
    sums: dict[str, dict[tuple[str, bool], Merged]] = {"WARC": {}, "index": {}}
    for seed in range(given.first_seed, given.first_seed + given.seeds):
        spec = Spec(seed, given.hosts, given.resources, press=given.press, matter=matter)
        with tempfile.TemporaryDirectory() as name:
            lines = archive(spec, Path(name), given.minutes)
            for source, read in (("WARC", of_warc), ("index", of_index)):
                start = time.process_time()
                mined = mine.mine(read(Path(name)), _WEB)
                seconds = time.process_time() - start
                rules = canonry.RuleSet(map(mine.as_learned, mined.rules), _WEB.policy.label)
                print(
                    f"web {seed}, {source}: {mined.pages:,} pages, {mined.redirects:,} redirects, "
                    f"{len(rules):,} active rules, {seconds:.0f} s of CPU time",
                    file=sys.stderr,
                )
                for key, counts in judged(spec, lines, rules).items():
                    before = sums[source].get(key, Merged())
                    sums[source][key] = Merged(*map(sum, zip(before, counts, strict=True)))
    result: dict[str, dict[str, dict[str, int]]] = {}
    for source, rows in sums.items():
        for key, counts in sorted(rows.items()) if given.verbose else ():
            print(f"  {source:6} {key[0]:32} {'dynamic' if key[1] else 'static':8}", *counts)
        groups = {
            "honest, static": [c for k, c in rows.items() if "(" not in k[0] and not k[1]],
            "honest, dynamic": [c for k, c in rows.items() if "(" not in k[0] and k[1]],
            "adversaries": [c for k, c in rows.items() if "(" in k[0]],
        }
        for name, all_counts in groups.items():
            could, merged, wrong = (sum(column) for column in zip(*all_counts, strict=True))
            print(
                f"{source:6} {name:16} {100 * (merged - wrong) / max(could, 1):5.1f} % of "
                f"{could:,} merged, {wrong:,} wrong"
            )
        result[source] = {
            f"{kind}, {'dynamic' if d else 'static'}": counts._asdict()
            for (kind, d), counts in rows.items()
        }
    keep(given, "mined", [], {"mined": result})


if __name__ == "__main__":
    main()

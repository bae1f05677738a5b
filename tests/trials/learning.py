"""What is learned on real manuals, served by nginx as careful and careless sites serve theirs?"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
from trials import crawling, manuals, webserver
from trials.judging import Truth
from trials.manuals import MANUALS, Manual, Reachable
from trials.webserver import Site


class Scene(NamedTuple):
    """How a manual is served."""

    says: str
    origins: tuple[str, ...]
    """Schemes and prefixes of the host that links name."""
    habits: frozenset[str]


_FOUR = ("http://", "https://", "http://www.", "https://www.")
_NOISY = frozenset({"noise"})
_STATIC = {
    "https-301": Scene("http redirects to https", _FOUR, frozenset({"http-redirects"})),
    "content": Scene("four names, no redirect", _FOUR, frozenset()),
    "www-301": Scene("www redirects to the bare host", _FOUR, frozenset({"www-redirects"})),
    "both-301": Scene(
        "three names redirect to one", _FOUR, frozenset({"http-redirects", "www-redirects"})
    ),
    "together": Scene("?from= and &run= together", (), frozenset({"campaign"})),
    "first": Scene(
        "?part=0 is the page, ?part=1|2|3 are others", (), frozenset({"parts", "whole"})
    ),
}
_CARELESS = {
    "ref": Scene("?ref= in links", (), _NOISY | {"ref"}),
    "sid": Scene("a fresh ?sid= in each link", (), _NOISY | {"sid"}),
    "ref-sid": Scene("?ref= and a fresh ?sid=", (), _NOISY | {"ref", "sid"}),
    "www": Scene("with and without www", ("https://", "https://www."), _NOISY),
    "campaign": Scene("?from= and &run= together", (), _NOISY | {"campaign"}),
    "segment": Scene("a fresh /(S(...))/ in each link", (), _NOISY | {"segment"}),
    "parts": Scene("?ref= and ?part=1|2|3", (), _NOISY | {"ref", "parts"}),
    "whole": Scene("?part=0 is the page, ?part=1|2|3 are others", (), _NOISY | {"parts", "whole"}),
}
SCENES = _STATIC | _CARELESS
_PLAIN = Scene("one name, no habits", (), frozenset())
_COLUMNS = {
    "pages": "pages",
    "fetches": "fetches",
    "redirects": "redirects",
    "repeats": "repeats",
    "wasted": "wasted",
    "wasted_a_page": "a page",
    "avoided": "avoided",
    "share": "share",
    "merged": "merged",
    "wrongly_merged": "wrongly",
    "lost": "lost",
    "seconds": "seconds",
}


def main() -> int:
    """Run the trial, print a table, and write the raw results; return 1 if a page was lost."""
    given = _arguments()
    chosen = {name: MANUALS[name] for name in given.manuals}
    packages = [package for manual in chosen.values() for package in manual.packages]
    versions = manuals.unpacked([*webserver.PACKAGES, *packages], given.cache)
    root = given.cache.resolve() / "root"
    linked = {
        name: manuals.reachable(root / manual.folder, manual.entries)
        for name, manual in chosen.items()
    }
    with _folder(given.work) as folder:
        foreign, crawls = _crawls(given, chosen, linked, root, folder)
    _sums(crawls)
    result = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(["tests/trials/learning.py", *sys.argv[1:]]),
        "commit": _commit(),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {platform.system()}",
        "versions": {"canonry": version("canonry"), **versions},
        "scenes": {name: SCENES[name].says for name in given.scenes},
        "wget": foreign,
        "crawls": crawls,
    }
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return int(any(_bad(row) for row in crawls))


def _commit() -> str | None:
    """Return the commit of the checkout, or None if there is none."""
    words = ["git", "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(words, cwd=Path(__file__).parent, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.decode().strip()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--manuals", nargs="+", choices=MANUALS, default=["git", "reference"], metavar="NAME",
        help=f"of {', '.join(MANUALS)}; git and reference by default",
    )  # fmt: skip
    parser.add_argument("--full", action="store_true", help="all manuals; this takes hours")
    parser.add_argument(
        "--scenes", nargs="+", choices=SCENES, default=list(SCENES), metavar="NAME",
        help=f"of {', '.join(SCENES)}; all by default",
    )  # fmt: skip
    parser.add_argument("--no-learn", action="store_true", help="crawl without learning")
    parser.add_argument("--most", type=int, default=6, help="stop a crawl at N times the pages")
    parser.add_argument("--seconds", type=float, default=60, help="stop a crawl after this")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the raw results as JSON")
    parser.add_argument("--work", type=Path, metavar="DIR", help="leave logs and stores there")
    cache = Path.home() / ".cache/canonry-trials"
    parser.add_argument("--cache", type=Path, default=cache, help="keep Debian's packages there")
    given = parser.parse_args()
    if given.full:
        given.manuals, given.seconds = list(MANUALS), 3600
    return given


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    """Return the folder for logs and stores; without a given one it does not stay."""
    if given is not None:
        given.mkdir(parents=True)
        yield given.resolve()
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)


def _crawls(
    given: argparse.Namespace,
    chosen: dict[str, Manual],
    linked: dict[str, Reachable],
    root: Path,
    folder: Path,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Serve the manuals, crawl them in each scene, and print a line for each crawl.

    Returns:
        What wget found, by the name of the manual; the judged crawls.
    """
    plain = {name: _site(name, "plain", _PLAIN, root) for name in chosen}
    sites = {
        (scene, name): _site(name, scene, SCENES[scene], root)
        for name in chosen
        for scene in given.scenes
    }
    cuts = {name: manuals.parts(found.files) for name, found in linked.items()}
    found = []
    rows = [row for name in chosen for row in manuals.as_lua(plain[name].root, cuts[name])]
    every = [*plain.values(), *sites.values()]
    with webserver.served(every, root, "\n".join(rows), folder) as server:
        foreign = {
            name: crawling.by_wget(site, server, linked[name]) for name, site in plain.items()
        }
        for name, compared in foreign.items():
            print(f"{name}: compared with wget {compared}")
        print(f"{'scene':10}{'manual':>11}" + "".join(f"{s:>10}" for s in _COLUMNS.values()))
        for (scene, name), site in sites.items():
            parted = frozenset(cuts[name]) if "parts" in site.habits else frozenset()
            truth = Truth(site.root, linked[name], parted)
            judged = crawling.by_canonry(
                site,
                server,
                truth,
                most=given.most * len(truth.pages()),
                seconds=given.seconds,
                more=["--config", "learn.enabled=false"] if given.no_learn else [],
            )
            found.append({"scene": scene, "manual": name, **judged})
            _line(found[-1])
    return foreign, found


def _site(manual: str, name: str, scene: Scene, root: Path) -> Site:
    """Return the virtual host for a manual in a scene."""
    bare = f"{manual}-{name}.example"
    origins = tuple(f"{origin}{bare}" for origin in scene.origins)
    return Site(bare, root / MANUALS[manual].folder, MANUALS[manual].entries, origins, scene.habits)


def _line(row: dict[str, Any]) -> None:
    """Print the figures of one crawl, and the rules that it learned."""
    figures = "".join(f"{row[name]:>10,}" for name in _COLUMNS)
    print(f"{row['scene']:10}{row['manual']:>11}{figures}{'' if row['finished'] else '  stopped'}")
    for rule in row["rules"]:
        print(
            f"    {rule['state']}: {rule['says']} "
            f"({rule['agree']} for, {rule['disagree']} against, {rule['suppressed']} suppressed)"
        )
    sys.stdout.flush()


def _bad(row: dict[str, Any]) -> bool:
    """Return True if pages were lost, or were merged although they differ."""
    return bool(row["wrongly_merged"] or (row["lost"] and row["finished"]))


def _sums(crawls: list[dict[str, Any]]) -> None:
    """Print the sums of the careful sites and of the careless ones."""
    for says, scenes in (("careful", _STATIC), ("careless", _CARELESS)):
        rows = [row for row in crawls if row["scene"] in scenes]
        total = {
            name: sum(row[name] for row in rows)
            for name in ("pages", "wasted", "avoided", "wrongly_merged", "seconds")
        }
        stopped = [row for row in rows if not row["finished"]]
        lost = sum(row["lost"] for row in rows if row["finished"])
        print(
            f"{says} sites: {total['wasted'] / max(1, total['pages']):.2f} wasted fetches a page "
            f"({total['wasted']:,} for {total['pages']:,}; {total['avoided']:,} avoided), "
            f"{total['wrongly_merged']} wrong merges, {lost} pages lost; "
            f"{total['seconds']:.0f} seconds; {len(stopped)} of {len(rows)} crawls stopped, "
            f"with {sum(row['lost'] for row in stopped)} pages not reached"
        )


if __name__ == "__main__":
    sys.exit(main())

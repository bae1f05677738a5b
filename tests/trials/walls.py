"""Does a crawl take pages for walls, and walls for pages? Both simulated webs are crawled."""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.simweb import webcrawls
from support.simweb.web import Spec, sites
from support.simweb.websites import Site, When

from canonry.storage.reading import report

# What the sites of both webs answer in place of a page; None: it is no page at all.
_WALLS = {"login", "sorry", "form", "consent", None}


def main() -> int:
    """Run the trial, print a line for each site with walls, and write the raw results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], metavar="N")
    parser.add_argument("--pages", type=int, default=100, metavar="N", help="of each site")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the raw results as JSON")
    given = parser.parse_args()
    rows = []
    for seed in given.seeds:
        for press in (False, True):
            start = time.monotonic()
            spec = Spec(seed=seed, press=press, resources=given.pages)
            found = [_crawled(site) for site in sites(spec)]
            rows += [{"seed": seed, "web": "press" if press else "first", **one} for one in found]
            total = Counter[str]()
            for one in found:
                total.update({name: n for name, n in one.items() if isinstance(n, int)})
            print(f"seed {seed}, {'press' if press else 'first'} web: {dict(total)}, "
                  f"{time.monotonic() - start:.0f} s", flush=True)  # fmt: skip
    if given.out is not None:
        when = datetime.now(UTC).isoformat(timespec="seconds")
        command = " ".join(["tests/trials/walls.py", *sys.argv[1:]])
        raw = {"when": when, "command": command, "sites": rows}
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8")
    return int(any(row["lost"] for row in rows))


def _crawled(site: Site) -> dict[str, Any]:
    """Crawl a site; return what was held as a wall, and what was lost."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        done = webcrawls.crawl(Path(folder), [site], patch, retries=3)
        turn = done.tallies[0].fetches
        with report.reading(f"sqlite:///{folder}/store.db") as connection:
            refused = list(report.rows(connection, "refused"))
            pages = [row for row in report.rows(connection, "pages") if row["status"] == 200]

    def resource(row: dict[str, Any]) -> str | None:
        return site.resolve(row["url"], When(turn, 1)).resource

    held = [resource(row) for row in refused if row["reason"] == "wall"]
    blocked = [resource(row) for row in refused if row["reason"] == "host-blocked"]
    have = Counter(map(resource, pages))
    return {
        "site": site.kind,
        "dynamic": int(site.frame.dynamic),
        "requests": turn,
        "questions": done.questions,
        "held": len(held),
        "pages_held": sum(one not in _WALLS for one in held),
        "walls_stored": sum(have[one] - 1 for one in _WALLS if have[one]),
        "lost": len({one for one in (*held, *blocked) if one not in _WALLS} - set(have)),
    }


if __name__ == "__main__":
    sys.exit(main())

"""Crawls of the simulated web by the command, and its use by other crawlers; see `learning.py`."""

import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.simweb import webjudge, webstore
from support.simweb.web import Spec
from support.simweb.webserver import Serving, ServingError, served

SETTINGS = "[crawl]\nrequests_per_host = 4\n[fetch]\nretries = 0\n"
_MOST = 2500  # URLs of a host: the press web shows fresh links without end
ENDLESS = f"[traps]\nmax_per_host = {_MOST}\n"
FLUSHED = 1.2  # seconds after which a log is complete


class Crawled(NamedTuple):
    """A crawl of a web: what its log and its store say."""

    tallies: list[webjudge.Tally]
    decisions: list[webstore.Decisions]
    seconds: float
    finished: bool  # False: it was stopped after the time that it had
    limited: list[str]  # hosts that reached the limit of URLs


def simulated(specs: list[Spec], minutes: float, *, plain: bool) -> dict[str, Any]:
    """Crawl webs with the command, and print what it did.

    Args:
        specs: what the webs are made of.
        minutes: a crawl is stopped after so many.
        plain: True to crawl without learning, too.

    Returns:
        The figures, for the raw run.
    """
    found: dict[str, Any] = {}
    for word in ("learn", "no-learn")[: 1 + plain]:
        done = []
        for spec in specs:
            done.append(_crawled(spec, word, minutes))
            stopped = "" if done[-1].finished else ", stopped before its end"
            print(f"  web {spec.seed} {word}: {done[-1].seconds:.0f} s{stopped}", file=sys.stderr)
        tallies = [tally for one in done for tally in one.tallies]
        print(f"{len(specs)} webs, canonry crawl {word}:")
        print("\n".join(webjudge.table(tallies)))
        if not all(one.finished for one in done):
            print("stopped before its end: URLs that it had not yet asked count as avoided or lost")
        if limited := [host for one in done for host in one.limited]:
            print(f"{len(limited)} hosts reached the limit of {_MOST:,} URLs (max_per_host)")
        found[word] = _as_json(done, tallies)
        if word == "learn":
            found["decisions"] = _print_decisions([row for one in done for row in one.decisions])
    return found


def _crawled(spec: Spec, word: str, minutes: float) -> Crawled:
    """Serve a web, crawl it, and judge."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with served(spec, folder) as serving:
            start = time.perf_counter()
            settings = SETTINGS + ENDLESS * spec.press
            (folder / "settings.toml").write_text(settings, encoding="utf-8")
            learn = ["--config", f"learn.enabled={str(word == 'learn').lower()}"]
            notices, finished = run(serving, folder, learn, 60 * minutes)
            seconds = time.perf_counter() - start
            time.sleep(FLUSHED)
        with serving.log_file.open(encoding="utf-8") as log:
            tallies = webjudge.judge_log(log)
        turns = {tally.site.home: tally.fetches for tally in tallies}
        store = f"sqlite:///{folder / 'store.db'}"
        given = [tally.site for tally in tallies]
        decided = webstore.decisions(given, store, notices.splitlines(), turns)
        limited = webstore.limited_hosts(store)
    return Crawled(tallies, decided, seconds, finished, limited)


def run(
    serving: Serving, folder: Path, words_for_it: list[str], seconds: float
) -> tuple[str, bool]:
    """Run the command; return what it told people, and whether it came to an end by itself."""
    words = [sys.executable, "-m", "canonry", "crawl", *serving.seeds, *words_for_it, "--json"]
    words += [
        "--store",
        f"sqlite:///{folder / 'store.db'}",
        "--config",
        str(folder / "settings.toml"),
    ]
    words += ["--scope", "any", "--delay", "0", "--concurrency", "32", "--allow-private"]
    words += ["--ca-file", str(serving.ca_file)]
    for rule in serving.connect_to:
        words += ["--connect-to", rule]
    with (folder / "told.txt").open("w+", encoding="utf-8") as told:
        crawl = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=told)
        try:
            crawl.wait(seconds)
            finished = True
        except subprocess.TimeoutExpired:
            finished = False
            crawl.send_signal(signal.SIGINT)
            crawl.wait(60)
        told.seek(0)
        text = told.read()
    if crawl.returncode and finished:
        raise RuntimeError(f"canonry crawl failed: {text[-2000:]}")
    return text, finished


def _as_json(done: list[Crawled], tallies: list[webjudge.Tally]) -> dict[str, Any]:
    """Return figures for the raw run."""
    rows = {
        f"{kind}, {'dynamic' if dynamic else 'static'}": webjudge.figures(found)
        for (kind, dynamic), found in webjudge.by_kind(tallies).items()
    }
    return {
        "seconds": [one.seconds for one in done],
        "finished": [one.finished for one in done],
        "limited": [one.limited for one in done],
        "kinds": {
            name: {**row._asdict(), "avoided": row.avoided, "wasted": row.wasted}
            for name, row in rows.items()
        },
    }


def _print_decisions(rows: list[webstore.Decisions]) -> dict[str, Any]:
    """Print what Canonry merged, and return the sums."""
    print("\n".join(webstore.table(rows)))
    wrong = Counter[str]()
    for row in rows:
        wrong[row.site.kind] += len(row.wrong)
    steady = [row for row in rows if row.site.honest and row.site.kind != "turning"]
    sums = webstore.totals(steady)
    right = sums["merged"] - sums["wrong"]
    if sums["merged"]:
        share = 100 * right / sums["merged"]
        print(f"  true merges on honest hosts that do not turn: {share:.3f} %")
    adversaries = webstore.totals(row for row in rows if not row.site.honest)
    return {"steady": sums, "adversaries": adversaries, "wrong by kind": dict(+wrong)}


def serve(spec: Spec, port: int, folder: Path, wait: Callable[[], object] = signal.pause) -> None:
    """Serve a web for another crawler until somebody presses Ctrl-C, or ends the process.

    Args:
        spec: what the web is made of.
        port: for http; https is on the next one.
        folder: gets the log, the seeds and the authority's certificate.
        wait: returns when serving shall end.

    Raises:
        SystemExit: if it cannot be served.
    """
    folder.mkdir(parents=True, exist_ok=True)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    try:
        with served(spec, folder, (port, port + 1 if port else 0)) as serving:
            try:
                print(f"http on 127.0.0.1:{serving.http}, https on 127.0.0.1:{serving.https}")
                print(f"seeds: {serving.seeds_file}; authority to trust: {serving.ca_file}")
                log = serving.log_file
                print(f"log: {log}; judge it with --judge {log}", flush=True)
                wait()
            except KeyboardInterrupt:
                time.sleep(FLUSHED)
    except ServingError as error:
        raise SystemExit(str(error)) from None
    except KeyboardInterrupt:
        raise SystemExit("stopped before the web was made") from None
    finally:
        signal.signal(signal.SIGTERM, before)


def judge(path: str) -> None:
    """Print the table of a log.

    Raises:
        SystemExit: with exit code 2, if it is none.
    """
    try:
        with Path(path).open(encoding="utf-8") as log:
            tallies = webjudge.judge_log(log)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        print(f"{path}: {reason}; --judge takes the requests.log of --serve", file=sys.stderr)
        raise SystemExit(2) from None
    print("\n".join(webjudge.table(tallies)))
    print(
        "A log does not say whether the crawler came to its end: "
        "URLs that it had not yet asked count as avoided or lost."
    )

"""Crawls a served manual: with the command under test, and with GNU wget."""

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from trials import judging
from trials.judging import Truth
from trials.manuals import Reachable
from trials.webserver import Served, Site


def by_canonry(
    site: Site, server: Served, truth: Truth, *, most: int, seconds: float, more: Sequence[str] = ()
) -> dict[str, Any]:
    """Crawl one site with ``canonry crawl``, and judge the crawl.

    Args:
        site: the site.
        server: where it is served.
        truth: what the crawl has to fetch.
        most: stop the crawl after so many answers; a fresh session id in each link is endless.
        seconds: interrupt the crawl after this time.
        more: further options of the command.
    """
    store = f"sqlite:///{server.folder}/{site.bare}.db"
    words = ["crawl", f"https://{site.bare}/start.html", "--store", store, "--scope", "domain"]
    words += ["--delay", "0", "--allow-private", "--ca-file", str(server.authority), "--json"]
    words += ["--max-pages", str(most), *more]
    for name in (site.bare, f"www.{site.bare}"):
        words += ["--connect-to", f"{name}:80:127.0.0.1:{server.http}"]
        words += ["--connect-to", f"{name}:443:127.0.0.1:{server.https}"]
    start = time.monotonic()
    summary = json.loads(_output(words, seconds))
    took = time.monotonic() - start
    pages = sum(summary["pages_by_status"].values())
    rules = json.loads(_output(["rules", "list", "--store", store, "--json"]))["rules"]
    lines = _output(["export", "aliases", "--store", store]).splitlines()
    found = judging.judged(server.log(site), truth)
    avoided = sum(rule["suppressed"] for rule in rules)
    return {
        **found,
        "avoided": avoided,
        "share": round(avoided / max(1, avoided + found["wasted"]), 3),
        **judging.merges(map(json.loads, lines), truth),
        "finished": summary["finished"] and pages < most,
        "seconds": round(took, 1),
        "learning": summary["run"].get("learning"),
        "rules": [_rule(rule) for rule in rules],
    }


def _rule(rule: dict[str, Any]) -> dict[str, Any]:
    """Return what a reader of the results wants to know of a rule."""
    evidence = {name: rule["evidence"][name] for name in ("agree", "disagree")}
    return {name: rule[name] for name in ("state", "says", "suppressed")} | evidence


def _output(words: Iterable[str], seconds: float | None = None) -> str:
    """Run ``canonry``; interrupt it after so many seconds. Return what it prints."""
    command = [sys.executable, "-m", "canonry", *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            out, said = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            out, said = process.communicate()
    if not out and process.returncode:
        raise RuntimeError(f"{' '.join(command)}: {said}")
    return out


def by_wget(site: Site, server: Served, linked: Reachable) -> dict[str, int] | None:
    """Mirror a site with GNU wget, to check the list of pages that we expect.

    Returns:
        How many pages of HTML are on the list; those that wget did not fetch, and those that it
        fetched and are not on the list. None if there is no wget.
    """
    wget = shutil.which("wget")
    if wget is None:
        return None
    words = [wget, "--quiet", "--mirror", "--delete-after", "--no-directories"]
    words += [f"--header=Host: {site.bare}", f"http://127.0.0.1:{server.http}/start.html"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(words, cwd=folder, check=False)
    expected = {file for file in linked.files if file.suffix == ".html"}
    answered = {
        Path(request["file"]).resolve()
        for request in judging.requests(server.log(site))
        if request["status"] == 200
    }
    more = {file for file in answered - expected if file.is_file() and file.suffix == ".html"}
    return {"pages": len(expected), "not_wget": len(expected - answered), "only_wget": len(more)}

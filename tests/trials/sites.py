"""Does a crawl find all pages of real trees of HTML? A crawler that shares no code is compared."""

import argparse
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
from trials import follower, manuals, webserver

_APACHE = ("apache2-bin", "libapr1", "libaprutil1")


class Tree(NamedTuple):
    """A tree of HTML in Debian's packages, and how it is served."""

    says: str
    folder: str
    """Below ``/``, as the packages have it."""
    entries: tuple[str, ...]
    packages: tuple[str, ...]
    kind: str = "text/html"
    listings: bool = False
    """Apache serves it, and shows listings of its folders."""


TREES = {
    "docbook": Tree(
        "XHTML 1.0", "usr/share/doc/aptitude/html/en", ("index.html",), ("aptitude-doc-en",),
        "application/xhtml+xml",
    ),
    "reference": Tree(
        "XHTML 1.1 in three languages", "usr/share/debian-reference",
        ("index.en.html", "index.de.html", "index.ja.html"),
        tuple(f"debian-reference-{language}" for language in ("en", "de", "ja")),
        "application/xhtml+xml",
    ),
    "stylesheets": Tree(
        "HTML 4 that is not well-formed, in Latin-1", "usr/share/doc/docbook-xsl-doc-html/doc",
        ("index.html",), ("docbook-xsl-doc-html",),
    ),
    "javadoc": Tree(
        "javadoc", "usr/share/doc/libcommons-lang3-java/api", ("index.html",),
        ("libcommons-lang3-java-doc",),
    ),
    "doxygen": Tree(
        "doxygen and DocBook, XHTML", "usr/share/doc/gcc-12-base/libstdc++",
        ("index.html", "user/index.html"), ("libstdc++-12-doc",), "application/xhtml+xml",
    ),
    "listings": Tree(
        "Apache's listings of folders, sorted in eight ways", "usr/share/doc/libjsoup-java",
        ("",), ("libjsoup-java-doc",), listings=True,
    ),
}  # fmt: skip
# Trees with pages of up to 10 MB. They take minutes, so they are only crawled when they are named.
LARGE = {
    "lilypond": Tree(
        "texinfo, with a page of 7 MB", "usr/share/doc/lilypond/html/Documentation",
        ("notation-big-page.html",), ("lilypond-doc-html",),
    ),
    "libstdc++": Tree(
        "doxygen, served as HTML, with a page of 4 MB", "usr/share/doc/gcc-12-base/libstdc++",
        ("index.html", "user/index.html"), ("libstdc++-12-doc",),
    ),
    "jdk": Tree(
        "javadoc, with pages of 5 MB", "usr/share/doc/openjdk-17-jre-headless/api",
        ("index.html",), ("openjdk-17-doc",),
    ),
    "rust": Tree(
        "rustdoc, with pages of 10 MB", "usr/share/doc/rust-doc/html",
        ("index.html", "std/index.html"), ("rust-doc",),
    ),
}  # fmt: skip


class Served(NamedTuple):
    """A running server."""

    port: int
    log: Path


def main() -> int:
    """Run the trial, print a line for each tree, and write the raw results; return 1 on a loss."""
    given = _arguments()
    chosen = {name: (TREES | LARGE)[name] for name in given.trees}
    packages = [package for tree in chosen.values() for package in tree.packages]
    versions = manuals.unpacked([*webserver.PACKAGES, *_APACHE, *packages], given.cache)
    root = given.cache.resolve() / "root"
    rows = {}
    for name, tree in chosen.items():
        with tempfile.TemporaryDirectory() as folder, _served(tree, root, Path(folder)) as served:
            rows[name] = _compared(name, tree, served, Path(folder))
        _print(name, rows[name])
    result = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(["tests/trials/sites.py", *sys.argv[1:]]),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {platform.system()}",
        "versions": {name: version(name) for name in ("canonry", "lxml")} | versions,
        "trees": rows,
    }
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return int(any(row["lost"] or row["walled"] for row in rows.values()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--trees", nargs="+", choices=[*TREES, *LARGE], default=list(TREES), metavar="NAME",
        help=f"of {', '.join(TREES)}, which are the default; and {', '.join(LARGE)}",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the raw results as JSON")
    cache = Path.home() / ".cache/canonry-trials"
    parser.add_argument("--cache", type=Path, default=cache, help="keep Debian's packages there")
    return parser.parse_args()


def _compared(name: str, tree: Tree, served: Served, folder: Path) -> dict[str, Any]:
    """Crawl a tree with both crawlers; return what they found, and each difference."""
    seeds = [f"http://{name}.example/{entry}" for entry in tree.entries]
    start = time.monotonic()
    theirs = follower.follow(seeds, served.port)
    between = time.monotonic()
    store = ["--store", f"sqlite:///{folder}/crawl.db"]
    words = ["crawl", *seeds, *store, "--delay", "0", "--allow-private", "--json"]
    run, peak = _canonry(*words, "--connect-to", f"::127.0.0.1:{served.port}")
    took = time.monotonic() - between
    logged = [json.loads(line) for line in served.log.read_text(encoding="utf-8").splitlines()]
    for row in logged:
        row["uri"] = row["line"].split(" ")[1]
    ours = [row for row in logged if row["agent"] != follower.AGENT]
    ours = [row for row in ours if row["uri"] != "/robots.txt"]
    asked = {f"http://{name}.example{row['uri']}": row["status"] for row in ours}
    files = {row["file"] for row in ours if row["status"] == 200}
    their_files = {
        row["file"] for row in logged if row["agent"] == follower.AGENT and row["status"] == 200
    }
    only_theirs = sorted(theirs.keys() - asked.keys())
    return {
        "says": tree.says,
        "type": tree.kind,
        "urls": len(theirs),
        "pages": sum(status == 200 for status in theirs.values()),
        "files": len(their_files),
        "requests": len(ours),
        "repeated": sorted(
            url for url, times in Counter(row["uri"] for row in ours).items() if times > 1
        ),
        "lost": len(their_files - files),
        "lost_files": sorted(their_files - files)[:20],
        "more_files": len(files - their_files),
        "more": sorted(files - their_files)[:20],
        "only_theirs": {url: [theirs[url], _why(url, store)] for url in only_theirs[:200]},
        "only_theirs_in_all": len(only_theirs),
        "only_ours": {url: asked[url] for url in sorted(asked.keys() - theirs.keys())[:200]},
        "only_ours_in_all": len(asked.keys() - theirs.keys()),
        "other_status": {
            url: [theirs[url], asked[url]]
            for url in theirs.keys() & asked.keys()
            if theirs[url] != asked[url]
        },
        "walled": json.loads(run)["held"].get("wall", 0),  # all of them are pages
        "finished": json.loads(run)["finished"],
        "seconds": round(took, 1),
        "their_seconds": round(between - start, 1),
        "peak_mib": round(peak),
    }


def _why(url: str, store: list[str]) -> str:
    """Return what the command says of a URL that it did not request."""
    said, _peak = _canonry("why", url, *store)
    return " | ".join(line.strip() for line in said.splitlines() if line.strip())


def _canonry(*words: str) -> tuple[str, float]:
    """Run the command; return what it prints, and its peak of memory in MiB."""
    peak = 0.0
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as told:
        process = subprocess.Popen(
            [sys.executable, "-m", "canonry", *words], stdout=out, stderr=told
        )
        while process.poll() is None:  # afterwards the system tells the peak of its parent, too
            peak = max(peak, _peak_of(process.pid))
            time.sleep(0.05)
        out.seek(0)
        told.seek(0)
        said = out.read().decode()
        if not said:
            raise RuntimeError(f"{' '.join(words)}: {told.read().decode()}")
    return said, peak


def _peak_of(process: int) -> float:
    """Return the peak of a running process in MiB; 0 if it has just ended."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


@contextmanager
def _served(tree: Tree, unpacked: Path, folder: Path) -> Iterator[Served]:
    """Serve a tree under any name until the block ends."""
    write = _apache if tree.listings else _nginx
    port, _ = webserver.free_ports()
    command, settings = write(tree, unpacked, folder, port)
    (folder / "server.conf").write_text(settings, encoding="utf-8")
    with webserver.running([*command, folder / "server.conf"], unpacked, port, folder):
        yield Served(port, folder / "access.log")


def _nginx(tree: Tree, unpacked: Path, folder: Path, port: int) -> tuple[list[str | Path], str]:
    """Return the command and the settings of nginx."""
    command = [unpacked / "usr/sbin/nginx", "-p", folder, "-e", folder / "error.log", "-c"]
    log = '"line":"$request","status":$status,"file":"$request_filename"'
    return (
        command,
        f"""
daemon off;
master_process off;
pid {folder}/nginx.pid;
events {{ worker_connections 1024; }}
http {{
{webserver.temporary(folder)}
types {{ {tree.kind} html; text/css css; text/javascript js; image/png png; }}
default_type application/octet-stream;
log_format trial escape=json '{{{log},"agent":"$http_user_agent"}}';
access_log {folder}/access.log trial;
keepalive_requests 100000;
server {{ listen 127.0.0.1:{port}; root {unpacked / tree.folder}; port_in_redirect off; }}
}}
""",
    )


def _apache(tree: Tree, unpacked: Path, folder: Path, port: int) -> tuple[list[str | Path], str]:
    """Return the command and the settings of Apache."""
    modules = "".join(
        f"LoadModule {name}_module {unpacked}/usr/lib/apache2/modules/mod_{name}.so\n"
        for name in ("mpm_event", "authz_core", "mime", "dir", "autoindex")
    )
    # As root, it serves as nobody, who may not read everything.
    shutil.copytree(unpacked / tree.folder, folder / "tree", symlinks=True)
    folder.chmod(0o755)
    log = '{"line":"%r","status":%>s,"file":"%f","agent":"%{User-Agent}i"}'.replace('"', '\\"')
    return (
        [unpacked / "usr/sbin/apache2", "-D", "FOREGROUND", "-f"],
        f"""
{modules}
User nobody
Group nogroup
Listen 127.0.0.1:{port}
ServerName listings.example
ServerRoot {folder}
PidFile {folder}/apache.pid
Mutex pthread
ErrorLog {folder}/error.log
TypesConfig /dev/null
AddType text/html .html
AddType text/css .css
DirectoryIndex disabled
DocumentRoot {folder}/tree
<Directory {folder}/tree>
    Options +Indexes +FollowSymLinks
    IndexOptions FancyIndexing XHTML
    Require all granted
</Directory>
LogFormat "{log}" trial
CustomLog {folder}/access.log trial
""",
    )


def _print(name: str, row: dict[str, Any]) -> None:
    """Print the figures of one tree."""
    print(
        f"{name}: {row['urls']:,} URLs, {row['files']:,} files; {row['requests']:,} requests, "
        f"{row['lost']} files lost, {row['more_files']} more; only theirs "
        f"{row['only_theirs_in_all']}, only ours {row['only_ours_in_all']}; {row['seconds']} s, "
        f"{row['peak_mib']} MiB",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())

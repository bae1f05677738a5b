"""Another engine on our frontier: Java, with the stubs that crawler-commons publishes.

It fetches the demo site, whose truth is known, while either side is killed.
"""

import os
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from support import frontiers
from support.ports import free_port
from support.sites import demo_site

from canonry.crawler.demo.server import Served
from canonry.crawler.demo.site import SEED, Resource
from canonry.storage.learned import rule_rows
from canonry.storage.reading import report

_ENGINE = Path(__file__).parent / "engine"
_MAVEN_SECONDS = 300
_SECONDS = 100
_IN_FLIGHT = 80  # URLs that an engine has at most: two nodes, four queues, ten URLs each


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the command that runs the engine."""
    if not all(map(shutil.which, ("mvn", "javac", "java"))):
        pytest.skip("needs Maven and a JDK")
    folder = tmp_path_factory.mktemp("engine")
    path = folder / "classpath"
    asked = ["mvn", "-q", "-B", "-f", str(_ENGINE / "pom.xml"), "dependency:build-classpath"]
    for offline in (["-o"], []):  # what was downloaded once is enough, and found sooner
        done = subprocess.run(
            [*asked, *offline, f"-Dmdep.outputFile={path}"],
            check=False,
            capture_output=True,
            text=True,
            timeout=_MAVEN_SECONDS,
        )
        if path.exists():
            break
    if not path.exists():
        pytest.skip(f"needs Maven's registry: {done.stdout[-300:]}")
    jars = path.read_text(encoding="utf-8")
    javac = [
        "javac",
        "-J-XX:TieredStopAtLevel=1",
        "-cp",
        jars,
        "-d",
        str(folder),
        str(_ENGINE / "Engine.java"),
    ]
    subprocess.run(javac, check=True, timeout=_SECONDS)
    quick = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]  # it runs for seconds
    return ["java", *quick, "-cp", f"{folder}:{jars}", "Engine"]


@contextmanager
def _running(java: list[str], ports: list[int], served: Served) -> Iterator[subprocess.Popen[str]]:
    nodes = ",".join(f"127.0.0.1:{port}" for port in ports)
    words = [*java, nodes, str(served.port), SEED]
    quiet = {key: value for key, value in os.environ.items() if key != "JAVA_TOOL_OPTIONS"}
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=quiet
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(timeout=_SECONDS)
        assert process.stdout is not None
        process.stdout.close()


def _fetched(process: subprocess.Popen[str], most: int | None = None) -> list[str]:
    """Return the URLs that an engine fetches, until it is done or has fetched so many."""
    assert process.stdout is not None
    urls = []
    until = time.monotonic() + _SECONDS
    for line in process.stdout:
        kind, _, rest = line.strip().partition(" ")
        assert kind in {"fetched", "done"}, line
        if kind == "done":
            break
        urls.append(rest)
        assert time.monotonic() < until
        if len(urls) == most:
            break
    return urls


def _expected(served: Served) -> list[Resource]:
    """Return the pages that an engine without cookies can fetch."""
    return [one for one in served.site.expected if not one.path.startswith("/wall/")]


def _missing(served: Served) -> list[str]:
    return [one.url for one in _expected(served) if not served.pages[one]]


def _repeated(served: Served) -> int:
    return sum(len(served.pages[one]) - 1 for one in _expected(served))


def test_an_engine_fetches_every_page_and_few_twice(java: list[str], tmp_path: Path) -> None:
    store = str(tmp_path / "crawl.db")
    with demo_site(products=30, guides=15) as served, frontiers.process(store) as (_server, port):
        with frontiers.client(port) as client:
            client("SetDelay", delay_requestable=0)
        with _running(java, [port], served) as engine:
            urls = _fetched(engine)
        assert not _missing(served)
        repeats = Counter(urls)
        assert max(repeats.values()) == 1, "no URL is handed out twice"
        assert _repeated(served) < len(_expected(served)) / 2, "each has five names or more"
    with report.reading(store) as connection:
        status = report.status(connection)
        assert rule_rows.has_any(connection), "it has learned from what the engine reports"
    assert status["urls"]["queued"] == 0
    assert ("redirect", 301) in {(row["kind"], row["status"]) for row in status["aliases"]}


def test_nothing_is_lost_when_either_side_is_killed(java: list[str], tmp_path: Path) -> None:
    store, port = str(tmp_path / "crawl.db"), free_port()
    with demo_site(products=30, guides=15) as served, ExitStack() as stack:
        server, _port = stack.enter_context(frontiers.process(store, port=port))
        with frontiers.client(port) as client:
            client("SetDelay", delay_requestable=0)
        with _running(java, [port], served) as engine:
            urls = _fetched(engine, most=60)
            engine.kill()
        with _running(java, [port], served) as engine:
            urls += _fetched(engine, most=40)
            server.kill()
            server.wait(timeout=_SECONDS)
            stack.enter_context(frontiers.process(store, port=port))
            urls += _fetched(engine)
        assert not _missing(served)
        again = sum(number - 1 for number in Counter(urls).values())
        assert again <= 2 * _IN_FLIGHT, "only what was in flight is fetched again"


def test_two_nodes_share_a_crawl_and_one_is_killed(java: list[str], tmp_path: Path) -> None:
    ports = [free_port(), free_port()]
    stores = [str(tmp_path / f"{number}.db") for number in range(2)]
    with demo_site(products=30, guides=15) as served, ExitStack() as stack:
        servers = [
            stack.enter_context(frontiers.process(store, port=port))[0]
            for store, port in zip(stores, ports, strict=True)
        ]
        for port in ports:
            with frontiers.client(port) as client:
                client("SetDelay", delay_requestable=0)
        with _running(java, ports, served) as engine:
            urls = _fetched(engine, most=80)
            servers[1].kill()
            servers[1].wait(timeout=_SECONDS)
            time.sleep(1)
            stack.enter_context(frontiers.process(stores[1], port=ports[1]))
            urls += _fetched(engine)
        assert not _missing(served)
        again = sum(number - 1 for number in Counter(urls).values())
        assert again <= _IN_FLIGHT
    hosts = []
    for store in stores:
        with report.reading(store) as connection:
            hosts.append(report.status(connection)["urls"]["fetched"])
    assert all(hosts), "both had some of the hosts"

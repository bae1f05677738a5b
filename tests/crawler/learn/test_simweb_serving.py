"""The simulated web as a benchmark serves it to another crawler, and judges its log."""

import http.client
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.crawls import crawl, page
from support.databases import url_of
from support.servers import Answer
from support.simweb import webjudge, webstore
from support.simweb.web import Spec, sites
from support.simweb.webserver import ServingError, served
from support.sites import wait_for

_SMALL = Spec(seed=1, hosts=2, resources=10, adversaries=False)
_BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
_SERVE = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(_BENCHMARKS)!r})
import simulated
simulated.serve(simulated.Spec(1, 2, 10, adversaries=False), int(sys.argv[1]), Path(sys.argv[2]))
"""


@contextmanager
def _serving(folder: Path, port: int = 0) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """Serve a web by a process of its own; yield that and the port for http."""
    words = [sys.executable, "-c", _SERVE, str(port), str(folder)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http on 127\.0\.0\.1:(\d+)", process.stdout.readline())
        assert found is not None, process.stderr and process.stderr.read()
        yield process, int(found[1])
    finally:
        process.kill()
        process.communicate()


def _is_refused(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return True
    return False


def _judged(path: Path) -> "subprocess.CompletedProcess[str]":
    words = f"import sys; sys.path.insert(0, {str(_BENCHMARKS)!r}); import simulated"
    return subprocess.run(
        [sys.executable, "-c", f"{words}; simulated.judge(sys.argv[1])", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_server_ends_with_the_process_that_started_it(
    number: signal.Signals, tmp_path: Path
) -> None:
    with _serving(tmp_path) as (process, port):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/", headers={"Host": "site0w1.com"})
        connection.getresponse().read()
        connection.close()
        process.send_signal(number)
        _out, error = process.communicate()
        assert error == ""
        wait_for(lambda: _is_refused(port), 20)
    log = (tmp_path / "requests.log").read_text(encoding="utf-8")
    assert log.count("\n") == 2


def test_a_busy_port_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    with _serving(tmp_path) as (_process, port):
        wait_for(lambda: (tmp_path / "requests.log").stat().st_size > 0)
        before = {file: file.read_bytes() for file in tmp_path.iterdir()}
        words = [sys.executable, "-c", _SERVE, str(port), str(tmp_path)]
        second = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        assert second.returncode == 1
        assert second.stderr.startswith(f"port {port} of 127.0.0.1 cannot be used: Address already")
        assert second.stderr.count("\n") == 1
        assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_the_second_port_counts_too(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(ServingError, match=f"port {port} of .* Address already in use; give"),
            served(_SMALL, tmp_path, (0, port)),
        ):
            pass
    with pytest.raises(ServingError, match="no such port"), served(_SMALL, tmp_path, (0, 65_536)):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_ends_before_it_serves_is_told_at_once(tmp_path: Path) -> None:
    with (
        pytest.raises(ServingError, match="ended before the web was made, with exit code 1"),
        served(_SMALL, tmp_path / "nowhere"),
    ):
        pass


def test_what_is_no_log_is_named(tmp_path: Path) -> None:
    head = webjudge.write_head(_SMALL)
    cases = {
        "empty": ("", "the first line of a log begins with '#'"),
        "foreign": ("# A page\n", "the first line of a log begins with '#'"),
        "another": ("#seed=1\tcolour=3\n", "the first line of a log begins with '#'"),
        "worded": ("#seed=one\n", "the first line of a log begins with '#'"),
        "broken": (f"{head}1.0\thttp\n", "line 2 is no request"),
        "binary": ("\udcff\udcfe", "can't decode"),
    }
    for name, (text, reason) in cases.items():
        file = tmp_path / name
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        with (
            pytest.raises(ValueError, match=re.escape(reason)),
            file.open(encoding="utf-8") as log,
        ):
            webjudge.judge_log(log)
    for name, reason in (("missing", "No such file or directory"), ("broken", "line 2 is no")):
        done = _judged(tmp_path / name)
        assert done.returncode == 2
        assert done.stderr.startswith(f"{tmp_path / name}: {reason}")
        assert done.stderr.endswith("; --judge takes the requests.log of --serve\n")
        assert done.stderr.count("\n") == 1


def test_hosts_with_few_requests_avoid_no_share() -> None:
    """A crawler that was cut off would get credit for what it did not come to."""
    (site, *_more) = sites(Spec(seed=1, hosts=2, resources=150, adversaries=False))
    pages = sorted(site.must)
    few = webjudge.replayed([site], [site.home, *pages[:100]])
    assert few[0].spared > 0
    assert webjudge.figures(few).avoided is None
    assert "%" not in "".join(webjudge.table(few))
    many = webjudge.replayed([site], [site.home, *pages, *pages[: webjudge.WARM]])
    assert many[0].fetches > webjudge.WARM
    assert webjudge.figures(many).avoided is not None
    assert webjudge.figures([*few, *many]).avoided == webjudge.figures(many).avoided


def test_judging_says_that_a_log_has_no_end(tmp_path: Path) -> None:
    log = tmp_path / "requests.log"
    log.write_text(webjudge.write_head(_SMALL), encoding="utf-8")
    done = _judged(log)
    assert done.returncode == 0
    assert "A log does not say whether the crawler came to its end" in done.stdout


def test_hosts_that_reached_the_limit_of_urls_are_named(tmp_path: Path) -> None:
    def answer(_head: bytes) -> Answer:
        return page(*(f"http://a.example/{n}" for n in range(4)), "http://b.example/")

    crawl(tmp_path, answer, traps={"max_per_host": 3}, scope="any")
    assert webstore.limited_hosts(url_of(tmp_path)) == ["a.example"]

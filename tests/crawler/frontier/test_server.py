"""The server: what clients see of the API, through sockets, restarts and kills."""

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
import trustme
from google.protobuf import descriptor_pb2
from support import frontiers
from support.forking import Fork
from support.frontiers import Client, known
from support.sites import run_command, start

from canonry.crawler.frontier import messages
from canonry.storage.reading import report

_A = "http://a.example/"
_ROOM = Path(messages.__file__).parent


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with frontiers.serving(tmp_path_factory.mktemp("frontier")) as client:
        yield client


def _status(error: pytest.ExceptionInfo[grpc.RpcError]) -> grpc.StatusCode:
    return error.value.code()


def test_the_binary_form_of_the_definition_is_current(tmp_path: Path) -> None:
    made = tmp_path / "made"
    words = ["-m", "grpc_tools.protoc", f"--proto_path={_ROOM}", f"--descriptor_set_out={made}"]
    subprocess.run([sys.executable, *words, "urlfrontier.proto"], check=True, cwd=_ROOM)
    read = descriptor_pb2.FileDescriptorSet.FromString
    assert read(made.read_bytes()) == read((_ROOM / "urlfrontier.binpb").read_bytes())


def test_what_is_put_comes_out_with_its_metadata(shared: Client) -> None:
    shared.discover(_A + "1", _A + "2?utm_source=x", crawlID="meta", metadata={"depth": "2"})
    first, second = shared("GetURLs", crawlID="meta")
    assert (first.url, first.key, first.crawlID) == (_A + "1", "a.example", "meta")
    assert second.url == _A + "2?utm_source=x", "it is requested as it was written"
    assert dict(first.metadata)["depth"].values == ["2"]
    assert shared.report(_A + "1", crawlID="meta", metadata={"more": "x"}) == "OK"
    status = shared("GetURLStatus", url=_A + "1", crawlID="meta", key="a.example")
    assert dict(status.known.info.metadata)["more"].values == ["x"]
    assert status.known.refetchable_from_date == 0
    assert status.creation_date > 0


def test_acknowledgements_say_what_became_of_each(shared: Client) -> None:
    items = [
        frontiers.discovered(_A, crawlID="acks"),
        frontiers.discovered(_A + "#x", crawlID="acks"),
        frontiers.discovered("no URL", crawlID="acks"),
        known(_A, crawlID="acks"),
    ]
    assert shared.put(items) == ["OK", "SKIPPED", "SKIPPED", "OK"]
    urls = [_A, "", _A + "new", _A + "new"]
    assert shared.batch(urls, crawlID="acks") == ["SKIPPED", "SKIPPED", "OK", "SKIPPED"]
    assert shared.batch([]) == [], "clients ask so whether there are batches"


def test_a_batch_of_another_form_sends_clients_to_the_stream(shared: Client) -> None:
    call = shared.channel.stream_stream("/urlfrontier.URLFrontier/PutDiscovered", None, None)
    other = messages.StringList(values=[""]).SerializeToString()
    swapped = b"\x0a\x03\x0a\x01x\x12\x02b1" + other
    with pytest.raises(grpc.RpcError) as error:
        list(call(iter([swapped]), timeout=60))
    assert _status(error) is grpc.StatusCode.UNIMPLEMENTED


def test_crawls_share_nothing(shared: Client) -> None:
    for crawl in ("", "news/2026", "Überall", "a.b"):
        assert shared.discover(_A + "same", crawlID=crawl) == ["OK"]
    assert {"DEFAULT", "news/2026", "Überall", "a.b"} <= set(shared("ListCrawls").values)
    shared("SetDelay", key="a.example", delay_requestable=600, crawlID="a.b")
    assert shared.get(crawlID="news/2026") == [_A + "same"]
    assert shared("DeleteCrawl", value="news/2026").value == 1
    assert "news/2026" not in shared("ListCrawls").values
    assert shared("DeleteCrawl", value="news/2026").value == 0
    assert shared.get(crawlID="Überall") == [_A + "same"]
    assert shared.discover(_A + "same", crawlID="news/2026") == ["OK"]


def test_any_crawl_gets_its_turn(tmp_path: Path) -> None:
    with frontiers.serving(tmp_path) as client:
        for crawl in "xyz":
            client.discover("http://1.example/", "http://2.example/", crawlID=crawl)
        found = [
            one.crawlID
            for _ in range(4)
            for one in client("GetURLs", anyCrawlID={}, max_queues=2, max_urls_per_queue=1)
        ]
    assert Counter(found) == {"x": 2, "y": 2, "z": 2}


def test_a_name_that_is_too_long_is_an_error_and_nothing_else_fails(shared: Client) -> None:
    with pytest.raises(grpc.RpcError, match="longer than") as error:
        shared("SetDelay", key="a.example", crawlID="x" * 100)
    assert _status(error) is grpc.StatusCode.INVALID_ARGUMENT
    with pytest.raises(grpc.RpcError, match="longer than") as error:
        shared.discover(_A, crawlID="x" * 51)
    assert _status(error) is grpc.StatusCode.INVALID_ARGUMENT
    assert shared("GetStats").crawlID == "DEFAULT"


def test_one_bad_item_fails_no_other(shared: Client) -> None:
    bad = [
        known(_A + "late", 1 << 63, crawlID="bad"),
        known(_A + "late", (1 << 64) - 1, crawlID="bad"),
        known(_A + "status", crawlID="bad", metadata={"fetch.statusCode": "999999999"}),
        known(_A + "cause", crawlID="bad", metadata={"error.cause": "a\0b"}),
        frontiers.discovered(_A + "deep", crawlID="bad", metadata={"depth": "999999999"}),
        frontiers.discovered(_A + "key", crawlID="bad", key="a\0b"),
    ]
    good = [frontiers.discovered(f"{_A}{n}", crawlID="bad") for n in range(30)]
    assert shared.put([*good[:15], *bad, *good[15:]]) == [
        *["OK"] * 15,
        *["OK"] * 5,
        "SKIPPED",
        *["OK"] * 15,
    ]
    late = shared("GetURLStatus", url=_A + "late", crawlID="bad")
    assert late.known.refetchable_from_date == (1 << 63) - 1


def test_metadata_that_are_too_large_are_left_out_and_the_url_is_not(shared: Client) -> None:
    sizes = {"small": 1_000, "large": 64 << 10}
    items = [
        frontiers.discovered(f"{_A}{name}", crawlID="sizes", metadata={"text": "x" * size})
        for name, size in sizes.items()
    ]
    assert shared.put(items) == ["OK", "OK"]
    small, large = shared("GetURLs", crawlID="sizes")
    assert (small.url, len(small.metadata["text"].values[0])) == (_A + "small", 1_000)
    assert (large.url, dict(large.metadata)) == (_A + "large", {})


@pytest.mark.parametrize("name", ["SetDelay", "PutURLs"])
def test_what_cannot_be_decoded_is_an_argument_that_is_invalid(shared: Client, name: str) -> None:
    path = f"/urlfrontier.URLFrontier/{name}"
    with pytest.raises(grpc.RpcError, match="rror parsing message") as error:
        if name == "SetDelay":
            shared.channel.unary_unary(path, None, None)(b"\xff\xff", timeout=60)
        else:
            list(shared.channel.stream_stream(path, None, None)(iter([b"\xff\xff"]), timeout=60))
    assert _status(error) is grpc.StatusCode.INVALID_ARGUMENT


def test_names_with_zero_characters_are_refused(shared: Client) -> None:
    for name, fields in (("SetDelay", {"key": "a\0b"}), ("CountURLs", {"filter": "\0"})):
        with pytest.raises(grpc.RpcError, match="has a zero character") as error:
            shared(name, **fields)
        assert _status(error) is grpc.StatusCode.INVALID_ARGUMENT


def test_figures_and_lists(shared: Client) -> None:
    shared.discover("http://1.example/a", "http://1.example/b", "http://2.example/", crawlID="l")
    shared.get(max_urls_per_queue=1, key="1.example", crawlID="l")
    shared.report("http://2.example/", crawlID="l")
    stats = shared("GetStats", crawlID="l")
    assert (stats.size, stats.inProcess, stats.numberOfQueues) == (2, 1, 2)
    assert dict(stats.counts) == {"completed": 1, "active_queues": 1}
    assert shared("GetStats", key="1.example", crawlID="l").size == 2
    assert shared("GetStats", key="3.example", crawlID="l").size == 0
    assert list(shared("ListQueues", crawlID="l").values) == ["1.example"]
    assert shared("ListQueues", crawlID="l", include_inactive=True).total == 2
    listed = [item.known.info.url for item in shared("ListURLs", crawlID="l")]
    assert listed == ["http://1.example/a", "http://1.example/b", "http://2.example/"]
    assert shared("CountURLs", crawlID="l", filter="EXAMPLE/A", ignoreCase=True).value == 1
    assert shared("DeleteQueue", key="1.example", crawlID="l").value == 2
    shared.discover("http://9.example/", crawlID="l")
    assert shared("PurgeURLs", crawlID="l", days=1).value == 0
    [node] = shared("ListNodes").values
    assert node.startswith("127.0.0.1:")


def test_what_is_set_for_a_queue(shared: Client) -> None:
    shared.discover(_A + "1", _A + "2", crawlID="set")
    shared("BlockQueueUntil", key="a.example", time=4_000_000_000, crawlID="set")
    assert shared.get(crawlID="set") == []
    shared("BlockQueueUntil", key="a.example", crawlID="set")
    shared("SetCrawlLimit", key="a.example", limit=2, crawlID="set")
    assert shared.discover(_A + "3", crawlID="set") == ["OK"]
    assert len(shared.get(crawlID="set")) == 2
    with pytest.raises(grpc.RpcError) as error:
        shared("SetCrawlLimit", key="b.example", limit=2, crawlID="set")
    assert _status(error) is grpc.StatusCode.NOT_FOUND
    shared("SetLogLevel", package="canonry.frontier", level="DEBUG")


def test_nothing_is_handed_out_while_inactive(tmp_path: Path) -> None:
    with frontiers.serving(tmp_path) as client:
        client.discover(_A)
        client("SetActive", state=False)
        assert not client("GetActive").state
        assert client.discover(_A, crawlID="later") == ["OK"]
        assert client.get() == []
        client("SetActive", state=True)
        assert client.get() == [_A, _A], "without a crawl, those of all crawls"


def test_questions_about_a_crawl_that_is_not_there_do_not_make_it(tmp_path: Path) -> None:
    with frontiers.serving(tmp_path) as client:
        where = {"crawlID": "typo"}
        assert client("GetStats", **where).crawlID == "typo"
        assert client("ListQueues", **where).total == client("CountURLs", **where).value == 0
        assert client.get(**where) == list(client("ListURLs", **where)) == []
        assert client("DeleteQueue", key="a", **where).value == 0
        assert client("PurgeURLs", days=1, **where).value == 0
        with pytest.raises(grpc.RpcError) as error:
            client("GetURLStatus", url=_A, **where)
        assert _status(error) is grpc.StatusCode.NOT_FOUND
        assert list(client("ListCrawls").values) == [], "nothing was put"
    assert [one.name for one in tmp_path.iterdir() if "crawls" in one.name] == []


def test_no_two_clients_get_one_url_nor_one_queue_within_its_delay(tmp_path: Path) -> None:
    with frontiers.serving(tmp_path) as client:
        for n in range(20):
            client.batch([f"http://h{n}.example/{m}" for m in range(30)])
        client("SetDelay", delay_requestable=600)
        found: list[str] = []

        def ask() -> None:
            for _ in range(10):
                found.extend(client.get(max_queues=3, max_urls_per_queue=2))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == len(set(found)) == 40, "each of the queues gave two, once"


def test_two_servers_on_one_store(tmp_path: Path) -> None:
    """Each knows at once what the other one was told; both may be written to."""
    store = str(tmp_path / "crawl.db")
    urls = [f"http://h{n % 20}.example/{n}" for n in range(2_000)]
    with (
        frontiers.process(store) as (_one, port),
        frontiers.process(store) as (_other, other_port),
        frontiers.client(port) as client,
        frontiers.client(other_port) as other,
        ThreadPoolExecutor() as threads,
    ):
        client("SetDelay", delay_requestable=0)
        answers = list(threads.map(lambda each: each.batch(urls), (client, other)))
        new = Counter(status for statuses in answers for status in statuses)
        assert new == {"OK": 2_000, "SKIPPED": 2_000}

        def work(each: Client) -> list[str]:
            found: list[str] = []
            while some := each.get(max_queues=5, max_urls_per_queue=20, delay_requestable=600):
                assert set(each.put([known(url) for url in some])) == {"OK"}
                found += some
            return found

        fetched = [url for some in threads.map(work, (client, other)) for url in some]
        assert sorted(fetched) == sorted(urls), "each once"
        assert other("GetStats").counts["completed"] == 2_000


def test_a_deleted_crawl_is_not_listed(tmp_path: Path) -> None:
    with frontiers.serving(tmp_path) as client:
        client.discover(_A)
        client.discover(_A, crawlID="other")
        assert list(client("ListCrawls").values) == ["DEFAULT", "other"]
        assert client("DeleteCrawl", value="DEFAULT").value == 1
        assert list(client("ListCrawls").values) == ["other"]
        assert client("GetStats").numberOfQueues == 0
        assert client.discover(_A) == ["OK"]


def test_a_killed_server_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    store = str(tmp_path / "crawl.db")
    acknowledged: list[str] = []
    urls = [f"http://h{n % 50}.example/{n}" for n in range(20_000)]

    def put(client: Client, running: Fork) -> None:
        items = (frontiers.discovered(url) for url in urls)
        call = client.method("PutURLs")(items, timeout=60)
        with pytest.raises(grpc.RpcError):
            for ack in call:
                acknowledged.append(ack.ID)
                if len(acknowledged) == 3_000:
                    running.kill()

    with frontiers.process(store) as (running, port), frontiers.client(port) as client:
        put(client, running)
        running.wait(timeout=60)
    with frontiers.process(store) as (_running, port), frontiers.client(port) as client:
        assert set(client.batch(acknowledged)) == {"SKIPPED"}, "all of them are there"
        client.batch(urls)
        assert client("CountURLs").value == len(urls), "and none twice"
        assert client("GetStats").size == len(urls)


def test_urls_that_were_out_when_a_server_was_killed_come_back(tmp_path: Path) -> None:
    store = str(tmp_path / "crawl.db")
    with frontiers.process(store) as (running, port), frontiers.client(port) as client:
        client.batch([f"{_A}{n}" for n in range(4)])
        client("SetDelay", delay_requestable=0)
        assert len(client.get(max_urls_per_queue=2, delay_requestable=600)) == 2
        running.kill()
        running.wait(timeout=60)
    with frontiers.process(store) as (_running, port), frontiers.client(port) as client:
        assert client("GetStats").inProcess == 2
        rest = client.get(max_urls_per_queue=4, delay_requestable=1)
        assert rest == [_A + "2", _A + "3"], "those that are out are not given again"
        assert client.put([known(f"{_A}{n}") for n in range(2)]) == ["OK", "OK"]
        assert client("GetStats").size == 2


def test_what_waits_is_written_before_a_server_ends(tmp_path: Path) -> None:
    store = str(tmp_path / "crawl.db")
    with frontiers.process(store) as (running, port), frontiers.client(port) as client:
        client.batch([f"{_A}{n}" for n in range(100)])
        running.terminate()
        assert running.wait(timeout=60) == 0
    with report.reading(store) as connection:
        assert report.status(connection)["urls"]["queued"] == 100


def test_clients_need_the_token(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("a-secret-token\n", encoding="utf-8")
    store = str(tmp_path / "crawl.db")
    with (
        frontiers.process(store, "--token-file", str(file)) as (_running, port),
        grpc.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        for given in ((), (("authorization", "Bearer another-token"),)):
            with pytest.raises(grpc.RpcError) as error:
                Client(channel, given)("ListCrawls")
            assert _status(error) is grpc.StatusCode.UNAUTHENTICATED
        allowed = Client(channel, (("authorization", "Bearer a-secret-token"),))
        assert allowed.discover(_A) == ["OK"]


@pytest.mark.parametrize("token", ["", "seven77", "with space"])
def test_a_token_that_keeps_nobody_out_is_refused(tmp_path: Path, token: str) -> None:
    (tmp_path / "token").write_text(f"{token}\n", encoding="utf-8")
    for options in (("--token-file", "token"), ("--token", token)):
        told = _fails("--port", "0", *options, folder=tmp_path)
        assert "at least 8 ASCII characters, and no spaces" in told
    assert not (tmp_path / "crawl.db").exists()


def test_tls_with_certificates_of_clients(tmp_path: Path) -> None:
    authority, others = trustme.CA(), trustme.CA()
    server = authority.issue_cert("localhost")
    files = {name: str(tmp_path / name) for name in ("cert", "key", "ca")}
    server.cert_chain_pems[0].write_to_path(files["cert"])
    server.private_key_pem.write_to_path(files["key"])
    authority.cert_pem.write_to_path(files["ca"])
    options = [word for name, file in files.items() for word in (f"--tls-{name}", file)]
    with frontiers.process(str(tmp_path / "crawl.db"), *options) as (_running, port):
        for issuer, is_served in ((authority, True), (others, False)):
            client = issuer.issue_cert("client.example")
            credentials = grpc.ssl_channel_credentials(
                authority.cert_pem.bytes(),
                client.private_key_pem.bytes(),
                client.cert_chain_pems[0].bytes(),
            )
            with grpc.secure_channel(f"localhost:{port}", credentials) as channel:
                if is_served:
                    assert Client(channel).discover(_A) == ["OK"]
                else:
                    with pytest.raises(grpc.RpcError) as error:
                        Client(channel)("ListCrawls")
                    assert _status(error) is grpc.StatusCode.UNAVAILABLE


def test_seeds_are_put_before_the_first_client_comes(tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    lines = ["# ours", _A, "", _A + "#top", "no URL", *(f"{_A}{n}" for n in range(12_000))]
    seeds.write_text("\n".join(lines), encoding="utf-8")
    options = ("--store", str(tmp_path / "crawl.db"), "--port", "0", "--seeds", str(seeds))
    running = start(tmp_path, "frontier", *options)
    try:
        told, port = frontiers.told_and_port(running)
        with frontiers.client(port) as client:
            assert client("CountURLs").value == 12_001
    finally:
        running.kill()
        running.communicate(timeout=60)
    assert "seeds.txt, line 5: not a URL; skipped" in told
    assert "12,001 new seeds, 1 already known, 1 not URLs" in told


def _fails(*options: str, folder: Path) -> str:
    done = run_command("frontier", "--store", "crawl.db", *options, folder=folder)
    assert done.returncode == 2, done.stderr
    return done.stderr.decode()


def test_wrong_usage_says_what_to_do(tmp_path: Path) -> None:
    told = _fails("--host", "192.0.2.1", folder=tmp_path)
    assert "--token-file FILE, or --tls-ca FILE" in told
    assert "go together" in _fails("--tls-cert", "x.pem", folder=tmp_path)
    assert "needs --tls-cert" in _fails("--tls-ca", "x.pem", folder=tmp_path)
    absent = ("--tls-cert", "x.pem", "--tls-key", "y.pem", "--port", "0")
    assert "y.pem: cannot be read" in _fails(*absent, folder=tmp_path)
    with frontiers.process(str(tmp_path / "other.db")) as (_running, port):
        assert "give another place" in _fails("--port", str(port), folder=tmp_path)

"""What the API's own documentation says of each method, asked of a server of ours.

The sentences are those of its definition, in our words; a URL is discovered, fetched for the last
time, or fetched and to be fetched again.
"""

import time
from collections.abc import Iterator

import grpc
import pytest
from support import frontiers
from support.frontiers import Client, discovered, known

_SITE = "https://www.mysite.example/"
_CRAWL = {"crawlID": "crawl_id"}
_LATER = int(time.time()) + 86_400


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with frontiers.serving(tmp_path_factory.mktemp("api")) as found:
        own = {**_CRAWL, "key": "queue_mysite"}
        items = [
            discovered(_SITE + "discovered", **own),
            known(_SITE + "completed", **own),
            known(_SITE + "again", _LATER, **own),
            discovered("https://other.example/", **_CRAWL, key="another_queue"),
        ]
        assert found.put(items) == ["OK"] * 4
        yield found


def _date(client: Client, name: str) -> int:
    item = client("GetURLStatus", url=_SITE + name, key="queue_mysite", **_CRAWL)
    assert item.WhichOneof("item") == "known"
    return int(item.known.refetchable_from_date)


def test_a_status_does_not_take_scheduling_into_account(client: Client) -> None:
    assert 0 < _date(client, "discovered") <= time.time()
    assert _date(client, "again") == _LATER


def test_zero_is_the_date_of_what_is_done(client: Client) -> None:
    assert _date(client, "completed") == 0
    assert client.discover(_SITE + "completed", **_CRAWL, key="queue_mysite") == ["SKIPPED"]
    assert _date(client, "completed") == 0, "found again, it is still done"


def test_a_url_that_was_never_put_is_not_found(client: Client) -> None:
    for url, key in (("https://example.org/3", "queue_3"), (_SITE + "completed", "another_queue")):
        with pytest.raises(grpc.RpcError) as error:
            client("GetURLStatus", url=url, key=key, **_CRAWL)
        assert isinstance(error.value, grpc.Call)
        assert error.value.code() is grpc.StatusCode.NOT_FOUND


def test_lists_have_all_urls_of_a_crawl_or_of_a_queue(client: Client) -> None:
    assert len(list(client("ListURLs", size=100, **_CRAWL))) == 4
    [one] = client("ListURLs", size=100, key="another_queue", **_CRAWL)
    assert one.known.info.url == "https://other.example/"
    pages = [list(client("ListURLs", start=n, size=1, **_CRAWL)) for n in range(5)]
    assert [len(page) for page in pages] == [1, 1, 1, 1, 0]


def test_queues_with_active_urls_are_listed_in_pages(client: Client) -> None:
    first = client("ListQueues", size=1, **_CRAWL)
    second = client("ListQueues", size=1, start=1, **_CRAWL)
    assert [*first.values, *second.values] == ["queue_mysite", "another_queue"]
    assert (second.total, second.start, second.size, second.crawlID) == (2, 1, 1, "crawl_id")


def test_the_figures_of_a_queue_and_of_a_crawl(client: Client) -> None:
    queue = client("GetStats", key="queue_mysite", **_CRAWL)
    assert (queue.size, queue.inProcess, queue.numberOfQueues) == (2, 0, 1)
    assert dict(queue.counts) == {"completed": 1, "active_queues": 1}
    assert client("GetStats", **_CRAWL).size == 3


def test_only_what_is_due_is_handed_out(client: Client) -> None:
    assert sorted(client.get(**_CRAWL)) == ["https://other.example/", _SITE + "discovered"]

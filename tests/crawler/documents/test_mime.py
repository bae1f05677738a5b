"""Multipart documents: the base of each part; and hostile documents do no harm."""

import time

import pytest
from support.crawls import crawl, page, target_of
from support.servers import Answer, ok
from support.tables import each

from canonry.crawler.documents import mime
from canonry.crawler.documents.by_type import read_document

URL = "http://answered.example/dir/archive.mht"


def multipart(kind: str, boundary: str, *parts: str, headers: str = "") -> str:
    """Return a multipart body, after the header that names its boundary."""
    body = "".join(f"--{boundary}\r\n{part}\r\n" for part in parts)
    head = f'Content-Type: multipart/{kind}; boundary="{boundary}"\r\n{headers}\r\n'
    return f"{head}{body}--{boundary}--\r\n"


def part(body: str, *headers: str) -> str:
    """Return an HTML part."""
    return "\r\n".join(["Content-Type: text/html", *headers, "", body])


def links(message: str, kind: str = "message/rfc822") -> list[str]:
    """Return the resolved links of a file that a browser saved."""
    found = read_document(message.encode(), {"Content-Type": kind}, URL)
    assert found is not None
    return list(found.links)


LINK = "<a href=x>"


@each(
    ("headers", "outer", "html", "link"),
    [
        # RFC 3986 section 5.1: the innermost base counts; each is relative to the one around it.
        ((), "", LINK, "http://answered.example/dir/x"),
        (("Content-Location: http://part.example/a/b",), "", LINK, "http://part.example/a/x"),
        ((), "Content-Location: http://outer.example/a/b\r\n", LINK, "http://outer.example/a/x"),
        (
            ("Content-Location: c/d",),
            "Content-Location: http://outer.example/a/b\r\n",
            LINK,
            "http://outer.example/a/c/x",
        ),
        (("Content-Location: c/d",), "", LINK, "http://answered.example/dir/c/x"),
        (
            ("Content-Location: http://part.example/a/b",),
            "Content-Location: http://outer.example/\r\n",
            f"<base href=http://own.example/>{LINK}",
            "http://own.example/x",
        ),
        (
            ("Content-Location: http://part.example/a/b",),
            "",
            f"<base href=/up/>{LINK}",
            "http://part.example/up/x",
        ),
        # draft-fielding-url-syntax-05 section 5.1.1: Content-Base precedes Content-Location.
        (
            ("Content-Location: http://part.example/a/b", "Content-Base: http://base.example/c/"),
            "",
            LINK,
            "http://base.example/c/x",
        ),
        (
            ("Content-Location: d/e",),
            "Content-Base: http://base.example/c/\r\n",
            LINK,
            "http://base.example/c/d/x",
        ),
        # RFC 2557 section 4.4.1: a long URL is folded over several lines.
        (
            ("Content-Location: http://part.example/a-long/\r\n path/\r\n\tb",),
            "",
            LINK,
            "http://part.example/a-long/path/x",
        ),
        # A base that is not a URL is ignored.
        (("Content-Location: http://[",), "", LINK, "http://answered.example/dir/x"),
    ],
)
def test_the_innermost_base_counts(
    headers: tuple[str, ...], outer: str, html: str, link: str
) -> None:
    assert links(multipart("related", "b", part(html, *headers), headers=outer)) == [link]


def test_nested_parts_have_their_own_bases() -> None:
    """As in RFC 2557 section 9.6: each level has its own Content-Location."""
    inner = multipart(
        "related",
        "in",
        part(LINK, "Content-Location: deep/page"),
        part("<a href=y>", "Content-Location: http://far.example/"),
        headers="Content-Location: http://middle.example/m/\r\n",
    )
    whole = multipart(
        "mixed",
        "out",
        part("<a href=z>"),
        inner,
        part(LINK),
        headers="Content-Location: http://outer.example/o/\r\n",
    )
    assert links(whole) == [
        "http://outer.example/o/z",
        "http://middle.example/m/deep/x",
        "http://far.example/y",
        "http://outer.example/o/x",
    ]


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("quoted-printable", "<a href=3D'http://a.example/=\r\nx'>"),
        ("base64", "PGEgaHJlZj0naHR0cDovL2EuZXhhbXBsZS94Jz4="),
        ("8bit", "<a href='http://a.example/x'>"),
        ("no-such-thing", "<a href='http://a.example/x'>"),
    ],
)
def test_transfer_encodings_are_decoded(encoding: str, body: str) -> None:
    one = part(body, f"Content-Transfer-Encoding: {encoding}")
    assert links(multipart("related", "b", one)) == ["http://a.example/x"]


def test_the_boundary_can_come_from_the_response_header() -> None:
    whole = multipart("related", "b", part(LINK))
    body = whole.partition("\r\n\r\n")[2]
    assert links(body, 'multipart/related; boundary="b"') == ["http://answered.example/dir/x"]


def test_each_part_is_read_by_its_type() -> None:
    feed = "Content-Type: application/xml\r\n\r\n<urlset><url><loc>/s</loc></url></urlset>"
    text = "Content-Type: text/plain\r\n\r\nSee <http://t.example/>."
    image = "Content-Type: image/png\r\nContent-Location: i.png\r\n\r\n<a href=no>"
    found = links(multipart("mixed", "b", feed, text, image))
    assert found == ["http://answered.example/s", "http://t.example/"]


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("multipart/related; boundary=b", True),
        ("Message/RFC822", True),
        ("application/x-mimearchive", True),
        ("text/html", False),
        (None, False),
    ],
)
def test_which_types_have_parts(kind: str | None, answer: bool) -> None:
    assert mime.is_multipart(kind) is answer


def nested(depth: int) -> str:
    """Return a part within so many multiparts."""
    whole = part(LINK)
    for level in range(depth):
        whole = multipart("mixed", f"b{level}", whole)
    return whole


@pytest.mark.parametrize(
    "message",
    [
        "",
        "Content-Type: multipart/mixed\r\n\r\nno boundary",
        "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n",
        "Content-Type: multipart/mixed; boundary=b\r\n\r\n" + "--b\r\n\r\nx\r\n" * 20_000,
        nested(300),
        "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(1000))
        + "x\n" * 500_000,
        "Content-Type: text/html\r\n" + "X: y\r\n" * 50_000 + "\r\n",
    ],
)
def test_hostile_multiparts_do_no_harm(message: str) -> None:
    start = time.process_time()
    found = read_document(message.encode(), {"Content-Type": "message/rfc822"}, URL)
    assert found is not None
    assert found.links == ()
    assert time.process_time() - start < 10


def test_a_crawl_follows_links_in_parts(tmp_path: object) -> None:
    saved = multipart("related", "b", part("<a href=../x>", "Content-Location: /a/b/c"))

    def answer(head: bytes) -> Answer:
        target = target_of(head)
        if target == "/":
            return page("/saved.mht")
        if target == "/saved.mht":
            return ok(saved.encode(), "Content-Type: multipart/related; boundary=x")
        return ok(b"", status="404 Not Found")

    _, pages = crawl(tmp_path, answer)  # type: ignore[arg-type]
    assert {p["url"] for p in pages} == {
        "http://a.example/",
        "http://a.example/saved.mht",
        "http://a.example/a/x",
    }

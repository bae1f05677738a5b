"""What people see of a page, in passages."""

import pytest

from canonry.crawler.similar.visible_text import passages

HTML = "text/html; charset=utf-8"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<title>One</title><p>Two <b>and</b>\n three<p>four", ["One", "Two and three", "four"]),
        ("a<script>b()</script><style>c</style><!-- d -->e", ["a e"]),
        ("<td>1<td>2", ["1", "2"]),
        ("a<br>b", ["a b"]),
        ("5 &euro; &lt;b&gt;", ["5 € <b>"]),
        ("<pre>one\n two <i>x</i>\n\n</pre>three\nfour", ["one", "two x", "three four"]),
        ("<p>see <img src='/i/a.png?v=1'> here", ["see [a.png] here"]),
        ("<img src=data:image/png;base64,AAAA>", []),
        ("<li>a</li></li></pre><li>b\nc</li>", ["a", "b c"]),
        ("", []),
    ],
)
def test_passages_of_html(body: str, expected: list[str]) -> None:
    assert passages(body.encode(), HTML) == expected


def test_passages_of_other_bodies() -> None:
    assert passages(b"one <b>\n\n two  x\n", "text/plain") == ["one <b>", "two x"]
    assert passages(b"&amp;", "text/plain") == ["&amp;"]
    assert passages("<p>Größe".encode("latin-1"), "text/html; charset=latin-1") == ["Größe"]
    assert passages("<p>Größe".encode("utf-16"), "text/html") == ["Größe"]
    for kind in ("text/css", "text/javascript; charset=utf-8", "image/png", "application/pdf"):
        assert passages(b"a{}", kind) is None, kind

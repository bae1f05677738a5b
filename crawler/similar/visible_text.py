"""The visible text of a body as passages: what stands in one paragraph, cell or item."""

import html

from canonry.crawler.documents.encodings import encoded_in_utf8
from canonry.crawler.documents.page_scan import text_format
from canonry.crawler.documents.text_blocks import Visible
from canonry.crawler.documents.tokenizer import tokens
from canonry.crawler.media_types import media_type

# Elements within a line (HTML Standard section 4.5); all others end a passage.
_INLINE = frozenset(
    b"a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q ruby s "
    b"samp small span strike strong sub sup time tt u var noscript script style template".split()
)
_NO_PAGES = frozenset({"text/css", "text/javascript", "application/javascript"})


def passages(body: bytes, content_type: str | None) -> list[str] | None:
    """Return the visible text of a body in passages; None if it is no text that people read.

    An image is a part of its passage, by the name of its file. Each line of ``<pre>`` and of plain
    text is a passage.

    Args:
        body: the body, decoded from its content encoding.
        content_type: the ``Content-Type`` header, as sent.
    """
    kind = media_type(content_type)
    form = None if kind in _NO_PAGES else text_format(body, content_type)
    if form is None:
        return None
    page = _Passages(in_lines=form == "plain")
    text = encoded_in_utf8(body, content_type)[0]
    if form == "plain":
        page.add(text)
    else:
        visible = Visible(page)
        for token in tokens(text, xml=form == "xml"):
            visible.read(token)
    page.end()
    return page.found


class _Passages:
    """Collects the passages of a page."""

    def __init__(self, *, in_lines: bool) -> None:
        self.found: list[str] = []
        self._pieces: list[bytes] = []
        self._preformatted = 0  # open elements
        self._is_plain = in_lines

    def open(self, tag: bytes, _kind: bytes) -> None:
        """Enter an element."""
        if tag not in _INLINE:
            self.end()
            self._preformatted += tag == b"pre"

    def close(self, tag: bytes) -> None:
        """Leave an element."""
        if tag not in _INLINE:
            self.end()
            self._preformatted -= tag == b"pre" and self._preformatted > 0

    def add(self, text: bytes) -> None:
        """Add text to the passage."""
        if not (self._is_plain or self._preformatted):
            self._pieces.append(text)
            return
        first, *lines = text.split(b"\n")
        self._pieces.append(first)
        for line in lines:
            self.end()
            self._pieces.append(line)

    def add_image(self, source: bytes) -> None:
        """Add the name of an image's file."""
        self._pieces.append(b" [%b] " % source.rpartition(b"/")[2])

    def end(self) -> None:
        """End the passage."""
        if self._pieces:
            text = b" ".join(self._pieces).decode("utf-8", "replace")
            self._pieces.clear()
            if words := (text if self._is_plain else html.unescape(text)).split():
                self.found.append(" ".join(words))

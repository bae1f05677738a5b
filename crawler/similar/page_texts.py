"""The texts of the pages of archives: of each URL the latest, of equal texts one, kept on disk."""

import tempfile
import zlib
from array import array
from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np

from canonry.crawler.compression import naming_file
from canonry.crawler.files.captures import Capture
from canonry.crawler.similar.shingles import Shingles, Vocabulary, shingles_of
from canonry.crawler.similar.visible_text import passages
from canonry.storage.http_status import OK

LEAST_WORDS = 20  # of its own, from which on a text says something
_QUICK = 1  # zlib's level


class _Version(NamedTuple):
    """A capture of a URL; the largest one counts, whatever the order of the files."""

    date: str
    key: bytes  # of its text
    text_id: int


class PageTexts:
    """The texts of pages. Passages and shingles are in a temporary file, some 10 KB for a page."""

    def __init__(self) -> None:
        """Begin with no page."""
        self._file = tempfile.TemporaryFile(prefix="canonry-similar-")  # noqa: SIM115 - see `close`
        self._places = array("Q", [0])  # where each text begins, and the last one ends
        self._sizes = array("Q")  # bytes of its passages, which precede its shingles
        self._keys: dict[bytes, int] = {}  # of all texts, with their ids
        self._latest: dict[str, _Version] = {}
        self._digests: dict[str, tuple[bytes, int]] = {}  # of bodies, with key and id
        self._revisits: dict[str, tuple[str, str]] = {}  # date and digest, by URL
        self._vocabulary = Vocabulary()
        self.unread = 0  # pages whose body is not in the files, or is too large

    def close(self) -> None:
        """Delete the temporary file."""
        self._file.close()

    def add(self, capture: Capture) -> None:
        """Read a capture; one that is no page with status 200 is left out."""
        if capture.status != str(OK) or _is_robots_txt(capture.url):
            return
        if capture.headers is None:
            seen = (capture.date, capture.digest)
            self._revisits[capture.url] = max(seen, self._revisits.get(capture.url, seen))
        else:
            self._add_page(capture, capture.headers.get("Content-Type"))

    def _add_page(self, capture: Capture, content_type: str | None) -> None:
        """Keep the text of a page, if it has one."""
        found = passages(capture.body, content_type)
        if found is None:
            return
        shingles, _counts = shingles_of(found, self._vocabulary)
        # Some words, as of a page that is made by scripts, do not say that two pages are equal.
        says = len(shingles) >= LEAST_WORDS
        text = "\n".join(found).encode("utf-8", "surrogatepass")
        key = blake2b(text if says else capture.body, digest_size=16).digest()
        text_id = self._keys.get(key)
        if text_id is None:
            text_id = self._keys[key] = len(self._sizes)
            self._put(text, shingles)
        if capture.digest:
            self._digests[capture.digest] = key, text_id
        self._take(capture.url, _Version(capture.date, key, text_id))

    def _put(self, text: bytes, shingles: Shingles) -> None:
        """Write a text to the file."""
        packed = zlib.compress(text, _QUICK)
        with naming_file(tempfile.gettempdir()):
            self._file.seek(self._places[-1])
            self._file.write(packed + shingles.tobytes())
        self._sizes.append(len(packed))
        self._places.append(self._places[-1] + len(packed) + shingles.nbytes)

    def _take(self, url: str, version: _Version) -> None:
        """Note a capture of a URL."""
        self._latest[url] = max(version, self._latest.get(url, version))

    def finish(self) -> None:
        """Give the pages that were visited again, or under another URL, the text that they had."""
        for url, (date, digest) in self._revisits.items():
            if (seen := self._digests.get(digest)) is not None:
                self._take(url, _Version(date, *seen))
            elif url not in self._latest:
                self.unread += 1
        self._revisits.clear()
        self._digests.clear()

    def pages(self) -> Iterator[tuple[str, int]]:
        """Yield each URL, with the id of its text."""
        for url, version in self._latest.items():
            yield url, version.text_id

    def keys(self) -> list[bytes]:
        """Return the keys of all texts, by id. They do not depend on the order of the files."""
        return list(self._keys)

    def passages(self, text_id: int) -> list[str]:
        """Return the passages of a text."""
        packed = self._read(self._places[text_id], self._sizes[text_id])
        text = zlib.decompress(packed).decode("utf-8", "surrogatepass")
        return text.split("\n") if text else []

    def shingles(self, text_id: int) -> Shingles:
        """Return the shingle that begins at each word of a text."""
        start = self._places[text_id] + self._sizes[text_id]
        return np.frombuffer(self._read(start, self._places[text_id + 1] - start), np.uint64)

    def _read(self, start: int, size: int) -> bytes:
        """Read a part of the file."""
        self._file.seek(start)
        return self._file.read(size)


def _is_robots_txt(url: str) -> bool:
    """Return True for the URL of a robots.txt, which is no page."""
    return urlsplit(url).path == "/robots.txt"

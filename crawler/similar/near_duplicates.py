"""Find near-duplicate pages among captures, and say how alike they are and what differs."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from canonry.canon import redact
from canonry.crawler.admission.scope import host_of
from canonry.crawler.similar.differences import only_in
from canonry.crawler.similar.page_texts import LEAST_WORDS, PageTexts
from canonry.crawler.similar.resembling import Likeness, likenesses
from canonry.crawler.similar.shared_frames import frame_shingles
from canonry.crawler.similar.shingles import (
    SKETCH,
    Resemblance,
    Shingles,
    Vocabulary,
    is_in,
    shingles_of,
    sketch_of,
)

LEAST = 0.8  # score of near-duplicates
_EQUAL = Resemblance(1.0, 1.0)
_DIGITS = 4  # of a score


class SimilarPage(NamedTuple):
    """A page of a group: the representative itself, or a near-duplicate of it."""

    group: int  # counts up in this export
    url: str
    representative: str  # the page of the group with the shortest URL; itself in its own row
    score: float  # share of the own text of both pages that both have; 1: it is equal
    containment: float  # share of the shorter text that is in the other one
    same_host: bool  # whether it is on the representative's host
    words: int  # of its own: without what most pages of its site have
    only_here: str  # excerpts of what the representative has not
    only_there: str  # excerpts of what only the representative has


class NearDuplicates(NamedTuple):
    """The near-duplicates of some captures."""

    pages: int  # with status 200 and a text, by URL
    short: int  # pages that were not compared, as they have hardly any text of their own
    unread: int  # pages whose body is not in the files, or is too large
    groups: int
    in_groups: int  # pages
    rows: Iterator[SimilarPage]


def _no_progress(_count: int, _total: int) -> None:
    """Show nothing."""


def find(
    texts: PageTexts, least: float = LEAST, progress: Callable[[int, int], None] = _no_progress
) -> NearDuplicates:
    """Find the groups of near-duplicates.

    Args:
        texts: of the pages, all of them read.
        least: the smallest score of a near-duplicate.
        progress: is told how many texts were compared just now, and how many there are.
    """
    urls = _urls_of(texts.pages())
    own_texts = _OwnTexts(texts)
    order = sorted(urls, key=lambda text_id: _rank(urls[text_id][0]))
    words: dict[int, int] = {}  # of the texts that are compared
    sketches = []
    for text_id in order:
        progress(1, len(order))
        shingles, count = own_texts.own(text_id)
        if count >= LEAST_WORDS:
            words[text_id] = count
            sketches.append(sketch_of(shingles))
    matrix = np.array(sketches, np.uint32).reshape(-1, SKETCH)
    groups = {text_id: [Likeness(text_id, text_id, _EQUAL)] for text_id in order}
    for likeness in likenesses(list(words), matrix, lambda text: own_texts.own(text)[0], least):
        groups[likeness.representative].append(likeness)
        del groups[likeness.text]
    shown = [likes for likes in groups.values() if sum(len(urls[like.text]) for like in likes) > 1]
    alone = (likes[0].text for likes in groups.values() if len(likes) == 1)
    return NearDuplicates(
        pages=sum(map(len, urls.values())),
        short=sum(1 for text in alone if text not in words and len(urls[text]) == 1),
        unread=texts.unread,
        groups=len(shown),
        in_groups=sum(len(urls[like.text]) for likes in shown for like in likes),
        rows=_rows(shown, urls, own_texts),
    )


def _urls_of(pages: Iterable[tuple[str, int]]) -> dict[int, list[str]]:
    """Return the URLs of each text, the one that represents it first."""
    urls: defaultdict[int, list[str]] = defaultdict(list)
    for url, text_id in pages:
        urls[text_id].append(url)
    for same in urls.values():
        same.sort(key=_rank)
    return urls


def _rank(url: str) -> tuple[int, str]:
    """Return how well a URL represents others: short ones come first."""
    return len(url), url


class _OwnTexts:
    """The texts without the frames of their sites."""

    def __init__(self, texts: PageTexts) -> None:
        self._texts = texts
        self._frames = frame_shingles(texts)
        self._vocabulary = Vocabulary()

    def own(self, text_id: int) -> tuple[Shingles, int]:
        """Return the sorted set of a text's own shingles, and the number of its own words."""
        shingles = self._texts.shingles(text_id)
        own = shingles[~is_in(shingles, self._frames)]
        return np.unique(own), len(own)

    def only_in(self, text_id: int, other: int) -> str:
        """Return excerpts of what the one text has and the other has not."""
        passages = self._texts.passages(text_id)
        shingles, counts = shingles_of(passages, self._vocabulary)
        elsewhere = np.union1d(self._texts.shingles(other), self._frames)
        return only_in(passages, counts, shingles, elsewhere)


def _rows(
    groups: Iterable[list[Likeness]], urls: dict[int, list[str]], own_texts: _OwnTexts
) -> Iterator[SimilarPage]:
    """Yield the rows of groups, those of each group by their score."""
    for number, likes in enumerate(groups, 1):
        likes.sort(key=lambda like: (-like.resemblance.score, _rank(urls[like.text][0])))
        first = likes[0].representative
        # The representative resembles itself, and no other text that much: it stands first.
        likes.sort(key=lambda like: like.text != first)
        representative = urls[first][0]
        host = host_of(representative)
        for text, _first, (score, containment) in likes:
            here = there = ""
            if text != first:
                here, there = own_texts.only_in(text, first), own_texts.only_in(first, text)
            words = own_texts.own(text)[1]
            for url in urls[text]:
                yield SimilarPage(
                    group=number,
                    url=redact(url),
                    representative=redact(representative),
                    score=round(score, _DIGITS),
                    containment=round(containment, _DIGITS),
                    same_host=host_of(url) == host,
                    words=words,
                    only_here=here,
                    only_there=there,
                )

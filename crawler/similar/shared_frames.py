"""The frames of sites: shingles that most texts of a host, or of a folder of it, have.

`canonry.crawler.learn.text.site_text` thinks of blocks in the same way. Shingles also find the
template of a sentence whose values differ.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import accumulate

import numpy as np

from canonry.crawler.admission.scope import host_of
from canonry.crawler.similar.page_texts import PageTexts
from canonry.crawler.similar.shingles import Shingles

_FEW = 2  # texts with a shingle, which prove nothing
_LEAST_OF_HOST = 4  # texts, from which on the frame of a host shows
_LEAST_OF_FOLDER = 40  # in smaller folders, "most texts" may be the versions of one page
_FOLDERS = 3  # folders in folders, as of releases and languages
_SAMPLES = 500  # texts of a section that are counted


def frame_shingles(texts: PageTexts) -> Shingles:
    """Return the shingles that are a frame somewhere, sorted.

    A text counts once, however many URLs have it. A frame that is known from one host counts on
    all of them: a mirror may have too few pages to show it.
    """
    frames = [np.zeros(0, np.uint64)]
    keys = texts.keys()
    for section in _sections(texts.pages()):
        sample = sorted(section, key=keys.__getitem__)[:_SAMPLES]
        frames.append(_frame_of([np.unique(texts.shingles(text_id)) for text_id in sample]))
    return np.unique(np.concatenate(frames))


def _frame_of(samples: list[Shingles]) -> Shingles:
    """Return the shingles that most of the samples have."""
    shingles, counts = np.unique(np.concatenate(samples), return_counts=True)
    return shingles[counts > max(_FEW, len(samples) / 2)]


def _sections(pages: Iterable[tuple[str, int]]) -> Iterator[set[int]]:
    """Yield the texts of each host and folder that has enough of them."""
    sections: defaultdict[tuple[str, ...], set[int]] = defaultdict(set)
    for url, text_id in pages:
        for section in accumulate(_folders(url), lambda above, name: (*above, *name)):
            sections[section].add(text_id)
    for section, ids in sections.items():
        if len(section) == 1:
            shows = len(ids) >= _LEAST_OF_HOST
        else:  # the only folder of a host or of a folder shows what that shows
            shows = _LEAST_OF_FOLDER <= len(ids) < len(sections[section[:-1]])
        if shows:
            yield ids


def _folders(url: str) -> Iterator[tuple[str]]:
    """Yield the host of a URL and its first folders."""
    host = host_of(url)
    yield (host,)
    path = url.partition("://")[2].partition("?")[0].partition("/")[2]
    yield from ((name,) for name in path.split("/")[:-1][:_FOLDERS])

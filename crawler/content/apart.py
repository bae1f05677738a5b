"""Apart: whether pages that were asked several times differ in what does not change. Pure."""

from collections.abc import Container, Sequence

from canonry.crawler.content.noise import Noise
from canonry.crawler.content.page_sample import PageSample
from canonry.crawler.content.sketch import Sketch


def seem_apart(
    one: Sequence[Sketch], other: Sequence[Sketch], noise: Noise, pages: PageSample
) -> bool:
    """Return True if something differs in each answer of two pages alike.

    If all words are the same, passages do not count: some words only stand elsewhere.

    Args:
        one: the answers of a page.
        other: those of another one.
        noise: what changes by itself on their host.
        pages: of the host.
    """
    numbers = [page.numbers for page in one], [page.numbers for page in other]
    passages = [page.passages for page in one], [page.passages for page in other]
    links = [_links_of(page) for page in one], [_links_of(page) for page in other]
    words_differ = len({page.text for page in (*one, *other)}) > 1
    return (
        _stay_apart(*numbers, noise.numbers)
        or (words_differ and _stay_apart(*passages, noise.passages))
        or (not noise.links and _stay_apart(*links, ()))
        or _shingles_stay_apart(one, other, pages)
    )


def _links_of(page: Sketch) -> bytes:
    """Return what a page links to as a bucket; none if that is not known."""
    return b"" if page.links is None else bytes([page.links])


def _stay_apart(
    one: Sequence[bytes | str], other: Sequence[bytes | str], changing: Container[int]
) -> bool:
    """Return True if a bucket differs in each answer of two pages alike.

    Args:
        one: the buckets of each answer of a page.
        other: those of another one.
        changing: the buckets that change by themselves.
    """
    return any(
        sums[0] != sums[-1]
        and at not in changing
        and len(set(sums[: len(one)])) == len(set(sums[len(one) :])) == 1
        for at, sums in enumerate(zip(*one, *other, strict=False))
    )


def _shingles_stay_apart(one: Sequence[Sketch], other: Sequence[Sketch], pages: PageSample) -> bool:
    """Return True if each answer of a page has shingles that none of another page's has."""
    end = min(page.end for page in (*one, *other))
    stays = [set.intersection(*(set(page.shingles) for page in each)) for each in (one, other)]
    shown = [{at for page in each for at in page.shingles} for each in (one, other)]
    only = (stays[0] - shown[1]) | (stays[1] - shown[0])
    return bool(pages.own({at for at in only if at <= end}))

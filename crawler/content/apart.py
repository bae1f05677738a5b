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
    each, of_one = (*one, *other), len(one)
    words_differ = len({page.text for page in each}) > 1
    return (
        _stay_apart([page.numbers for page in each], of_one, noise.numbers)
        or (words_differ and _stay_apart([page.passages for page in each], of_one, noise.passages))
        or (not noise.links and _stay_apart([page.links for page in each], of_one, ()))
        or _shingles_stay_apart(one, other, pages)
    )


def _stay_apart(each: Sequence[bytes | str], of_one: int, changing: Container[int]) -> bool:
    """Return True if a bucket differs in each answer of two pages alike.

    Args:
        each: the buckets of each answer of a page, and then of another one.
        of_one: how many answers are the first one's.
        changing: the buckets that change by themselves.
    """
    return any(
        sums[0] != sums[-1]
        and at not in changing
        and len(set(sums[:of_one])) == len(set(sums[of_one:])) == 1
        for at, sums in enumerate(zip(*each, strict=False))
    )


def _shingles_stay_apart(one: Sequence[Sketch], other: Sequence[Sketch], pages: PageSample) -> bool:
    """Return True if each answer of a page has shingles that none of another page's has."""
    end = min(page.end for page in (*one, *other))
    stays = [set.intersection(*(set(page.shingles) for page in each)) for each in (one, other)]
    shown = [{at for page in each for at in page.shingles} for each in (one, other)]
    only = (stays[0] - shown[1]) | (stays[1] - shown[0])
    return bool(pages.own({at for at in only if at <= end}))

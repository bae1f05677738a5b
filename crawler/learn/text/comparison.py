"""The comparison: decide from their answers whether two URLs are the same page. Pure.

The stable blocks of a URL are those in all of its answers. Two URLs are the *same* page if the
stable blocks of each are in some answer of the other, in the same order, and some of them are the
page's own: so a soft 404, a wall or a frame proves nothing. They are *different* if no answer of
one has a stable block of the other. Everything else is *unknown*, and is requested again.
"""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from canonry.crawler.documents.text_blocks import TextBlock, block_set, decoded
from canonry.crawler.learn.text.site_text import SiteText

MOST_ANSWERS = 4  # that are kept and compared for a URL
_STEADY = 2  # answers of each URL before pages count as different, on a steady site
_VARYING = 3  # ... and on one whose pages change now and then
MOSTLY = 0.75  # if more than this share of the stable text differs, it is no chance


class PageVerdict(Enum):
    """Whether two URLs are the same page."""

    SAME = "same"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


class PageAnswer(NamedTuple):
    """The content of an answer with status 200."""

    digest: bytes
    encoded: bytes | None  # its blocks; None if it is not text

    @property
    def blocks(self) -> Sequence[TextBlock]:
        """Its blocks, in their order."""
        return decoded(self.encoded or b"")

    @property
    def block_set(self) -> frozenset[TextBlock]:
        """Its blocks, as a set."""
        return block_set(self.encoded or b"")


class PageComparison(NamedTuple):
    """A verdict; if it is unknown, which of the two URLs to request again."""

    verdict: PageVerdict
    ask_first: bool = False
    ask_second: bool = False
    share: float = 1.0  # how much of the stable text differs, without the site's frame


_SAME, _DIFFERENT = PageComparison(PageVerdict.SAME), PageComparison(PageVerdict.DIFFERENT)
_UNKNOWN = PageComparison(PageVerdict.UNKNOWN)


def compare(
    first: Sequence[PageAnswer], second: Sequence[PageAnswer], text: SiteText
) -> PageComparison:
    """Compare the answers of two URLs, at least one of each.

    Args:
        first: of one URL.
        second: of the other.
        text: what is known about the text of their site.
    """
    if any(answer.encoded is None for answer in (*first, *second)):
        return _compare_bytes(first, second)
    here, there = ([answer.block_set for answer in answers] for answers in (first, second))
    stay_here, stay_there = frozenset.intersection(*here), frozenset.intersection(*there)
    lost = (stay_here - frozenset().union(*there)) | (stay_there - frozenset().union(*here))
    if lost := frozenset(block for block in lost if not text.is_ignored(block)):
        return _compare_lost(first, second, text, lost, stay_here | stay_there)
    both = stay_here & stay_there
    if _are_ordered_otherwise(first, second, both, text):
        return _decided(_DIFFERENT, first, second, text)
    # A block that is stable in one and comes and goes in the other may be its version.
    versions = stay_here ^ stay_there
    if not _has_own(both, text) or _has_own(versions, text):
        return _UNKNOWN
    return _ask(first, second, _STEADY if text.varies else 1, found=_SAME)


def _compare_lost(
    first: Sequence[PageAnswer],
    second: Sequence[PageAnswer],
    text: SiteText,
    lost: frozenset[TextBlock],
    stays: frozenset[TextBlock],
) -> PageComparison:
    """Compare two URLs of which one has stable blocks that the other never had.

    Args:
        first: answers of one URL.
        second: of the other.
        text: what is known about the text of their site.
        lost: these blocks.
        stays: the stable blocks of either URL.
    """
    if not any(map(text.is_own, lost)):  # other pages have it, too: it may be chance
        return _ask(first, second, MOST_ANSWERS, found=_DIFFERENT)
    share = len(lost) / max(text.count_outside_frame(stays), len(lost))
    found = _DIFFERENT._replace(share=share)
    return found if found.share > MOSTLY else _decided(found, first, second, text)


def _has_own(blocks: frozenset[TextBlock], text: SiteText) -> bool:
    """Return True if some blocks are the page's own, and do not change by themselves."""
    return any(text.is_own(block) and not text.is_ignored(block) for block in blocks)


def _compare_bytes(first: Sequence[PageAnswer], second: Sequence[PageAnswer]) -> PageComparison:
    """Compare answers that are not text by their digests."""
    here, there = {a.digest for a in first}, {a.digest for a in second}
    if here & there:
        return _SAME
    if len(here) > 1 or len(there) > 1:  # it changes by itself
        return _UNKNOWN
    return _ask(first, second, _STEADY, found=_DIFFERENT)


def _decided(
    found: PageComparison, first: Sequence[PageAnswer], second: Sequence[PageAnswer], text: SiteText
) -> PageComparison:
    """Return a verdict once there are enough answers for this site; until then, what to request."""
    needed = _STEADY if text.is_steady else _VARYING if text.is_sampled else MOST_ANSWERS
    return _ask(first, second, needed, found=found)


def _ask(
    first: Sequence[PageAnswer],
    second: Sequence[PageAnswer],
    needed: int,
    found: PageComparison,
) -> PageComparison:
    """Return a verdict if both URLs have this many answers; else which of them to request again."""
    if min(len(first), len(second)) >= needed:
        return found
    ask_first = len(first) <= len(second)
    return PageComparison(PageVerdict.UNKNOWN, ask_first=ask_first, ask_second=not ask_first)


def _are_ordered_otherwise(
    first: Sequence[PageAnswer],
    second: Sequence[PageAnswer],
    both: frozenset[TextBlock],
    text: SiteText,
) -> bool:
    """Return True if two pages have the same blocks in different orders, and each keeps its order.

    So a list that a site shuffles for each answer does not make two pages different.
    """
    if first[0].encoded == second[0].encoded:
        return False
    kept = {block for block in both if text.has_order(block)}
    here, there = (
        {tuple([block for block in answer.blocks if block in kept]) for answer in answers}
        for answers in (first, second)
    )
    return len(here) == len(there) == 1 and here != there

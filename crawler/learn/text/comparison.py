"""The one comparison: are two URLs one page, by what stays in their answers? Pure.

What stays in a URL is what all of its answers have. Two URLs are the *same* page if all that stays
in one is in some answer of the other, and the other way round, in the same order, and some of it is
the page's own: so a soft 404, a wall or a frame proves nothing. They are *different* if something
stays in one that no answer of the other has. Everything else is *unknown*, and is asked again.
"""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from canonry.crawler.learn.text.site_text import SiteText
from canonry.crawler.learn.text.text_blocks import TextBlock, block_set, decoded

MOST_ANSWERS = 4  # of a URL
_STEADY = 2  # answers of each before pages differ, where pages stay as they are
_VARYING = 3  # ... and where they change now and then
MOSTLY = 0.75  # of what stays and is no frame: if so much differs, it is hardly by itself


class PageVerdict(Enum):
    """What two URLs are."""

    SAME = "same"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


class PageAnswer(NamedTuple):
    """What a URL answered with 200."""

    digest: bytes
    encoded: bytes | None  # its blocks; None: it is no text

    @property
    def blocks(self) -> Sequence[TextBlock]:
        """Its blocks, in their order."""
        return decoded(self.encoded or b"")

    @property
    def told(self) -> frozenset[TextBlock]:
        """Its blocks, as a set."""
        return block_set(self.encoded or b"")


class PageComparison(NamedTuple):
    """A verdict; if it is unknown, which of the two to ask again."""

    verdict: PageVerdict
    ask_first: bool = False
    ask_second: bool = False
    share: float = 1.0  # of what stays and is no frame, how much differs


_SAME, _DIFFERENT = PageComparison(PageVerdict.SAME), PageComparison(PageVerdict.DIFFERENT)
_UNKNOWN = PageComparison(PageVerdict.UNKNOWN)


def compare(
    one: Sequence[PageAnswer], other: Sequence[PageAnswer], text: SiteText
) -> PageComparison:
    """Compare the answers of two URLs, at least one of each.

    Args:
        one: of one URL.
        other: of the other.
        text: what is known about the text of their site.
    """
    if any(answer.encoded is None for answer in (*one, *other)):
        return _compare_bytes(one, other)
    here, there = ([answer.told for answer in answers] for answers in (one, other))
    stay_here, stay_there = frozenset.intersection(*here), frozenset.intersection(*there)
    lost = (stay_here - frozenset().union(*there)) | (stay_there - frozenset().union(*here))
    if lost := frozenset(block for block in lost if not text.is_ignored(block)):
        return _compare_lost(one, other, text, lost, stay_here | stay_there)
    both = stay_here & stay_there
    if _are_ordered_otherwise(one, other, both, text):
        return _decided(_DIFFERENT, one, other, text)
    # What always stays in one of them, and comes and goes in the other, may be its version.
    versions = stay_here ^ stay_there
    if not _has_own(both, text) or _has_own(versions, text):
        return _UNKNOWN
    return _ask(one, other, _STEADY if text.varies else 1, found=_SAME)


def _compare_lost(
    one: Sequence[PageAnswer],
    other: Sequence[PageAnswer],
    text: SiteText,
    lost: frozenset[TextBlock],
    stays: frozenset[TextBlock],
) -> PageComparison:
    """Compare two URLs of which one always has what the other never had.

    Args:
        one: answers of one URL.
        other: of the other.
        text: what is known about the text of their site.
        lost: what one has, and the other has not.
        stays: what stays in either of them.
    """
    if not any(map(text.is_own, lost)):  # it is elsewhere on the site, too: it may be chance
        return _ask(one, other, MOST_ANSWERS, found=_DIFFERENT)
    share = len(lost) / max(text.number_said(stays), len(lost))
    found = _DIFFERENT._replace(share=share)
    return found if found.share > MOSTLY else _decided(found, one, other, text)


def _has_own(blocks: frozenset[TextBlock], text: SiteText) -> bool:
    """Return True if some blocks are a page's own, and do not change by themselves."""
    return any(text.is_own(block) and not text.is_ignored(block) for block in blocks)


def _compare_bytes(one: Sequence[PageAnswer], other: Sequence[PageAnswer]) -> PageComparison:
    """Compare what is no text."""
    here, there = {a.digest for a in one}, {a.digest for a in other}
    if here & there:
        return _SAME
    if len(here) > 1 or len(there) > 1:  # it changes by itself
        return _UNKNOWN
    return _ask(one, other, _STEADY, found=_DIFFERENT)


def _decided(
    found: PageComparison, one: Sequence[PageAnswer], other: Sequence[PageAnswer], text: SiteText
) -> PageComparison:
    """Return what was found once there are answers enough; until then, what to ask."""
    needed = _STEADY if text.is_steady else _VARYING if text.is_sampled else MOST_ANSWERS
    return _ask(one, other, needed, found=found)


def _ask(
    one: Sequence[PageAnswer],
    other: Sequence[PageAnswer],
    needed: int,
    found: PageComparison,
) -> PageComparison:
    """Return what was found if there are so many answers of both; else which to ask again."""
    if min(len(one), len(other)) >= needed:
        return found
    first = len(one) <= len(other)
    return PageComparison(PageVerdict.UNKNOWN, ask_first=first, ask_second=not first)


def _are_ordered_otherwise(
    one: Sequence[PageAnswer],
    other: Sequence[PageAnswer],
    both: frozenset[TextBlock],
    text: SiteText,
) -> bool:
    """Return True if two pages have the same blocks in another order, and each has always its own.

    So a list that a site shuffles for each answer does not make a page another one.
    """
    if one[0].encoded == other[0].encoded:
        return False
    kept = {block for block in both if text.has_order(block)}
    here, there = (
        {tuple([block for block in answer.blocks if block in kept]) for answer in answers}
        for answers in (one, other)
    )
    return len(here) == len(there) == 1 and here != there

"""Last words of a crawl: what it could not do, why, what helps, and the exit code."""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from canonry.crawler.cli.exit_codes import INTERRUPTED, NO_SEED
from canonry.crawler.inquiry import remedies
from canonry.crawler.plurals import counted
from canonry.crawler.run.job.seed_results import FailedSeed, is_unreached
from canonry.crawler.run.wiring import CrawlResult
from canonry.crawler.settings import Settings
from canonry.storage.reading.report import StoreStatus
from canonry.storage.recrawls.recrawl_report import RecrawlRow

_OF_PAGES = ("new", "changed", "unchanged", "gone", "moved")  # of what a recrawl has found
_MOST = 10  # seeds that are told one by one


class FailedSeedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A seed that gave no page."""

    url: str
    reason: str  # as exports have it
    leads_to: str | None  # where it redirects to: the URL that the reason is about
    because: str  # the reason in a sentence
    advice: str | None  # the option or setting that may help


def exit_code(result: CrawlResult) -> int:
    """Return the exit code of a crawl."""
    if not result.finished:
        return INTERRUPTED
    return NO_SEED if result.is_fruitless else 0


def as_data(seeds: Sequence[FailedSeed], settings: Settings) -> list[FailedSeedJSON]:
    """Return failed seeds as they are printed, each with its cause in words and what helps."""
    return [
        FailedSeedJSON(**seed._asdict(), because=because(seed), advice=_advice(seed, settings))
        for seed in seeds
    ]


def spoken(result: CrawlResult, store_status: StoreStatus, settings: Settings) -> Iterator[str]:
    """Yield the sentences that a crawl ends with.

    Args:
        result: of the run.
        store_status: what the store holds now.
        settings: of the run.
    """
    crawl = settings.crawl
    for seed in result.failed_seeds[:_MOST]:
        way = "" if seed.leads_to is None else f" leads to {seed.leads_to}, which"
        helps = _advice(seed, settings)
        hint = "" if helps is None else f"; what helps: {helps}"
        yield f"canonry: the seed {seed.url}{way} gave no page: {because(seed)}{hint}"
    if len(result.failed_seeds) > _MOST:
        yield f"canonry: {len(result.failed_seeds) - _MOST:,} more seeds gave no page"
    if result.progress.learning_failed:
        yield "canonry: learning failed in this run; nothing was learned after the message about it"
    if not result.finished:
        yield "Interrupted; the same command resumes."
        return
    silent = Counter(store_status["failed"]) + Counter(store_status["not_again"])
    unreached = {reason: n for reason, n in silent.items() if is_unreached(reason)}
    if result.is_fruitless:
        yield "Nothing was crawled: no seed gave a page. The same command tries them again."
    elif unreached:
        number, reasons = sum(unreached.values()), ", ".join(unreached)
        yield (
            f"{counted(number, 'URL')} could not be reached ({reasons}); the same command tries "
            "them again."
        )
    elif result.failed_seeds:
        yield "The same command tries such seeds again."
    if crawl.is_recrawl and store_status["recrawl"]:
        yield from _of_recrawl(store_status["recrawl"])
    queued = store_status["urls"]["queued"]
    if queued and 0 < crawl.max_pages <= store_status["urls"]["fetched"]:
        verb = "is" if queued == 1 else "are"
        yield f"Stopped at --max-pages {crawl.max_pages:,}; {counted(queued, 'URL')} {verb} queued."


def _of_recrawl(found: RecrawlRow) -> Iterator[str]:
    """Yield what a recrawl has found."""
    pages = ", ".join(f"{getattr(found, kind):,} {kind}" for kind in _OF_PAGES)
    unseen = f"; {found.unseen:,} could not be seen, and are kept" if found.unseen else ""
    yield f"Pages since the last run: {pages}{unseen}."
    if found.rules_begun or found.rules_ended:
        yield (
            f"Learned rules: {found.rules_begun:,} act since then, {found.rules_ended:,} do "
            "no longer; 'canonry rules list' shows them."
        )


def because(seed: FailedSeed) -> str:
    """Return the sentence for the reason of a failed seed."""
    reason = seed.reason
    if reason.startswith("status "):
        return f"the server answered with {reason}"
    found = remedies.sentence_about(_end_of(seed), reason)
    return found or f"it redirects to something that is not a URL ({reason})"


def _end_of(seed: FailedSeed) -> str:
    """Return the URL that the reason of a failed seed is about."""
    return seed.url if seed.leads_to is None else seed.leads_to


def _advice(seed: FailedSeed, settings: Settings) -> str | None:
    """Return what may help where a seed failed; None if we know of nothing."""
    case = remedies.Case(_end_of(seed), 0, 0, settings, [seed.url], ())
    return remedies.remedy(seed.reason, case)

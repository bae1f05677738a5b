"""The command ``crawl``."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import click
from msgspec.structs import replace

from canonry.crawler.cli.crawl.scope_command import read_lists, seeds_option
from canonry.crawler.cli.crawl.serve_command import (
    serve_option,
    token_option,
    unlisted_token_file_option,
    with_token,
)
from canonry.crawler.cli.described import described, json_option, store_option
from canonry.crawler.cli.exit_codes import FAILED
from canonry.crawler.cli.setting_options import (
    Grouped,
    by_section,
    config_option,
    name_of,
    setting_options,
    typed,
)
from canonry.crawler.cli.status_json import StatusJSON, told
from canonry.crawler.cli.terminal import last_words, live, render, summaries
from canonry.crawler.cli.terminal.render import print_json
from canonry.crawler.files.output import check_distinct
from canonry.crawler.named_policies import find_policy, warnings_for
from canonry.crawler.observe.progress import LiveCrawl, Progress
from canonry.crawler.opening import file_of_store, preset_of_store
from canonry.crawler.plurals import counted
from canonry.crawler.run import workers
from canonry.crawler.run.job.resumption import Resumed, resumed, without_secrets
from canonry.crawler.settings import Settings, sources
from canonry.crawler.web import listening, serving
from canonry.storage.reading import report
from canonry.storage.sql.engine import without_password

_OF_THIS_RUN = "crawl.keep_options"


class CrawlJSON(StatusJSON):
    """What a crawl did, and what its store holds."""

    seconds: float
    finished: bool  # False: interrupted, or no seed gave a page
    kept_options: dict[str, Any]  # of the crawl that this one resumes, by name
    failed_seeds: list[last_words.FailedSeedJSON]
    run: Progress


_GROUPS = {
    "What to crawl": ("seed_lists",),
    "What is kept": ("store",),
    "What is shown": ("serve", "token", "as_json", "quiet", "verbose", "help"),
    "Everything else": ("config",),
}


@described(
    "canonry crawl https://example.com/ --store crawl.db",
    "canonry crawl https://example.com/docs/ --scope prefix --max-pages 1000",
    "canonry crawl --seeds seeds.txt --scope domain --delay 0.5 --serve",
    cls=Grouped,
    groups=_GROUPS,
)
@click.argument("seeds", nargs=-1, metavar="[SEED]...")
@store_option
@seeds_option
@config_option
@setting_options()
@serve_option
@token_option
@unlisted_token_file_option
@json_option
def crawl(
    seeds: tuple[str, ...],
    store: str,
    config: tuple[str, ...],
    *,
    seed_lists: tuple[str, ...],
    serve: serving.Place | None,
    token: str | None,
    token_file: str | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - the settings check them
) -> int:
    """Crawl from the seed URLs, and report which links were merged.

    Options override the environment and the settings file. What has no option is a setting that
    --config sets; 'canonry settings' lists all.

    To resume, run the same command again, or one with the --store alone: a crawl keeps the options
    of the one that it resumes, and names them. Ctrl-C stops the crawl after the requests in flight;
    a second Ctrl-C stops it at once.
    """
    flags = by_section(flags)
    loaded = sources.loaded(config, flags)
    own, given = loaded.settings.crawl, loaded.given
    before = resumed(store, with_seeds=not (seeds or seed_lists), is_again=own.is_recrawl)
    if before is None and not (seeds or seed_lists):
        raise _without_seed(store)
    serve = with_token(serve, token, token_file)
    kept = _kept_options(before if own.keep_options else None, given)
    if before is not None:
        _tell_what_is_kept(before, kept, is_limited="crawl.max_pages" in given)
    options = {**kept.values, **given}
    settings = _under_policy_of(
        store, sources.loaded(*sources.nested(options)) if kept.values else loaded
    )
    options.pop(_OF_THIS_RUN, None)
    if settings.crawl.recrawl and "crawl.recrawl_after" in given:
        render.notify(
            f"crawl.recrawl_after={given['crawl.recrawl_after']} is only for pages about which "
            "nothing is known, since recrawl is on; --no-recrawl fetches all again that are older."
        )
    read = [*seed_lists, options.get("config"), settings.fetch.ca_file, settings.fetch.cookies]
    read.append(settings.fetch.identity)
    check_distinct([("crawl.log", settings.crawl.log or None)], [*read, file_of_store(store)])
    for sentence in warnings_for(find_policy(settings.crawl.policy)):
        render.notify(f"canonry: {sentence}")
    listed, cuts = read_lists(seed_lists)
    if before is not None:
        seeds, listed = seeds or before.seeds, [*listed, *before.listed]
    watched = LiveCrawl()

    def update(progress: Progress) -> None:
        watched.update(progress)
        display()

    with (
        listening.served(settings.crawl.metrics, store, watched),
        serving.served(store, serve, watched, render.notify),
        live.live_display(store, watched) as display,
    ):
        result = workers.crawl(
            seeds,
            store,
            settings,
            listed=listed,
            options=without_secrets(options),
            notify=render.notify,
            update=update,
        )
    with report.reading(store) as connection:
        store_status = told(report.status(connection))
    job = store_status["job"]
    seconds = result.seconds if job is None or job["seconds"] is None else job["seconds"]
    if as_json:
        found: CrawlJSON = {
            **store_status,
            "seconds": round(seconds, 3),
            "finished": result.finished and not result.is_fruitless,
            "kept_options": kept.values,
            "failed_seeds": last_words.as_data(result.failed_seeds, settings),
            "run": result.progress,
        }
        print_json(found)
    else:
        summaries.status(store_status)
        pages = counted(result.progress.pages, "page")
        probes = result.progress.probes
        more = f", {counted(probes, 'probe')} (requests for learning alone)" if probes else ""
        render.notify(f"{pages} in {seconds:.1f} s{more}; the store is {without_password(store)}")
    for sentence in last_words.spoken(result, store_status, settings):
        render.notify(sentence)
    return last_words.exit_code(result) or (FAILED if cuts else 0)


def _without_seed(store: str) -> click.UsageError:
    """Return what is wrong with a crawl without a seed."""
    if preset_of_store(store) is None:
        return click.UsageError("Missing argument 'SEED': give the URL of a page, or --seeds FILE.")
    return click.UsageError(
        f"No URL is queued in {without_password(store)}: give a SEED to crawl further, or "
        "--recrawl to fetch its pages again."
    )


def _under_policy_of(store: str, loaded: sources.Loaded) -> Settings:
    """Return settings; if they name no policy, with the preset of the store, and say so."""
    settings, made = loaded.settings, preset_of_store(store)
    if "crawl.policy" in loaded.origins or made in {None, settings.crawl.policy}:
        return settings
    render.notify(f"The store's keys are of policy {made}, so this crawl has that policy, too.")
    return replace(settings, crawl=replace(settings.crawl, policy=made))


# They say which pages are fetched again: one that is given now replaces both.
_AGAIN = frozenset({"crawl.recrawl", "crawl.recrawl_after"})


class _Kept(NamedTuple):
    """Settings of the command line before that are not given now."""

    values: dict[str, Any]  # of those that are kept, by their names: "crawl.max_pages"
    dropped: dict[str, Any]  # those that are not kept
    lost: list[str]  # names of those whose values the store does not have


def _kept_options(before: Resumed | None, given: Mapping[str, Any]) -> _Kept:
    """Return the settings of the command line before that are not given now.

    Args:
        before: that crawl; None keeps nothing.
        given: those of now, by name.
    """
    absent = {} if before is None else {k: v for k, v in before.options.items() if k not in given}
    lost = [name for name, value in absent.items() if value is None]
    known = {name: value for name, value in absent.items() if value is not None}
    is_new = before is not None and before.has_ended
    contrary = frozenset() if _AGAIN.isdisjoint(given) else _AGAIN
    values = {name: value for name, value in known.items() if not (is_new or name in contrary)}
    return _Kept(values, {k: v for k, v in known.items() if k not in values}, lost)


def _tell_what_is_kept(before: Resumed, kept: _Kept, *, is_limited: bool) -> None:
    """Say what a crawl has of the one that it resumes, and what it lacks."""
    if before.seeds or before.listed:
        begins = "Crawling again from" if before.has_ended else "Resuming the crawl of"
        first = before.seeds[0] if before.seeds else before.listed[0].text
        others = len(before.seeds) + len(before.listed) - 1
        more = f" and {counted(others, 'more seed')}" if others else ""
        render.notify(f"{begins} {first}{more}.")
    if kept.values:
        render.notify(
            f"As in the crawl that this one resumes: {typed(kept.values)}. Options given now "
            "replace these; --config crawl.keep_options=false drops all."
        )
    if kept.dropped and before.has_ended:
        render.notify(
            "The last crawl into this store has ended, so these options of it are not kept: "
            f"{typed(kept.dropped)}. Give again what this crawl needs."
        )
    elif kept.dropped:
        render.notify(
            f"Not kept, as the options given now say what is fetched again: {typed(kept.dropped)}."
        )
    if before.reached is not None and not is_limited:
        render.notify(f"--max-pages {before.reached} was reached, so this crawl goes on without.")
    if kept.lost:
        names = ", ".join(dict.fromkeys(map(name_of, kept.lost)))
        render.notify(
            f"canonry: a store has no secrets, so these options of then are not kept: {names}; "
            "give again what the crawl needs"
        )

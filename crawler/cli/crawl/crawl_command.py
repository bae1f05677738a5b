"""The command ``crawl``."""

from collections.abc import Sequence
from typing import Any

import click
from msgspec.structs import replace

from canonry.crawler.cli.crawl.kept_options import (
    by_name,
    by_parameter,
    kept_options,
    tell_what_is_kept,
)
from canonry.crawler.cli.crawl.scope_command import (
    config_option,
    exclude_option,
    include_option,
    read_lists,
    scope_option,
    seeds_option,
)
from canonry.crawler.cli.crawl.serve_command import serve_option, viewer_options, with_viewers
from canonry.crawler.cli.described import Grouped, described, json_option, store_option
from canonry.crawler.cli.ending import with_exit_code
from canonry.crawler.cli.exit_codes import FAILED
from canonry.crawler.cli.printed.store_json import CrawlJSON, program
from canonry.crawler.cli.terminal import last_words, live, render, summaries
from canonry.crawler.cli.terminal.render import print_json
from canonry.crawler.files.output import check_distinct
from canonry.crawler.named_policies import find_policy, warnings_for
from canonry.crawler.observe.progress import Progress
from canonry.crawler.opening import file_of_store, preset_of_store
from canonry.crawler.plurals import counted
from canonry.crawler.run import bodies, workers
from canonry.crawler.run.job.resumption import resumed, without_secrets
from canonry.crawler.settings import Settings, is_given, load, sources
from canonry.crawler.web import listening, serving
from canonry.crawler.web.panel import LiveCrawl
from canonry.storage.reading import report
from canonry.storage.sql.engine import without_password

_OF_THIS_RUN = "crawl.keep_options="
_OF_FETCH = ("allow_private", "ca_file", "cookies", "proxy")


_GROUPS = {
    "What to crawl": (
        *("seed_lists", "scope", "include", "exclude", "max_pages", "max_depth", "only_types"),
    ),
    "Again": ("recrawl", "recrawl_after"),
    "How fast": ("delay", "concurrency", "requests_per_host", "workers"),
    "As whom": ("user_agent", "contact", "headers", "cookies"),
    "Which way": ("proxy", "connect_to", "ca_file", "allow_private"),
    "What is the same": ("policy", "learn"),
    "What is kept": ("store", "warc", "log"),
    "What is shown": (
        *("serve", "token", "token_file", "names", "as_json", "quiet", "verbose", "help"),
    ),
    "Everything else": ("config",),
}


def _defaults() -> dict[str, str]:
    """Return what options are without them, by the settings that they set; "" is told elsewhere."""
    crawl, fetch = (sources.defaults()[section] for section in ("crawl", "fetch"))
    return {
        name: "default: " + (("no", "yes")[value] if isinstance(value, bool) else f"{value:g}")
        if isinstance(value, bool | int | float)
        else f"default: {value}"
        for name, value in {**fetch, **crawl, "learn": True}.items()
        if value not in ("", [])
    } | dict.fromkeys(("max_pages", "max_depth"), "default: no limit")


@described(
    "canonry crawl https://example.com/ --store crawl.db",
    "canonry crawl https://example.com/docs/ --scope prefix --max-pages 1000",
    "canonry crawl --seeds seeds.txt --scope domain --delay 0.5 --serve",
    cls=Grouped,
    groups=_GROUPS,
    defaults=_defaults,
)
@click.argument("seeds", nargs=-1, metavar="[SEED]...")
@store_option
@seeds_option
@config_option
@scope_option
@include_option
@exclude_option
@click.option(
    "--max-pages",
    type=int,
    metavar="N",
    help="Stop when the store holds N pages, without those that are queued to be fetched again.",
)
@click.option("--max-depth", type=int, metavar="N", help="Follow up to N links from a seed.")
@click.option(
    "--recrawl/--no-recrawl",
    default=None,
    help="Fetch pages again that are due, by how often each has changed.",
)
@click.option(
    "--recrawl-after", metavar="TIME", help="Fetch pages again that are older: 12h, 7d, 4w."
)
@click.option(
    "--policy",
    metavar="NAME|FILE",
    help="A preset, or a TOML file.  [default: that of the store; web for a new one]",
)
@click.option("--learn/--no-learn", default=None, help="Learn which URLs of a host are the same.")
@click.option(
    "--delay", type=float, metavar="SECONDS", help="Time between two requests to one host."
)
@click.option("--concurrency", type=int, metavar="N", help="Concurrent requests in each worker.")
@click.option("--requests-per-host", type=int, metavar="N", help="Concurrent requests to one host.")
@click.option(
    "--user-agent", metavar="TEXT", help="The user agent; its first word is for robots.txt."
)
@click.option("--contact", metavar="TEXT", help="How site owners reach you: a page, or an address.")
@click.option(
    "--header",
    "headers",
    multiple=True,
    metavar="'NAME: VALUE'",
    help="Send this header to the hosts in scope. What may be a secret, such as Authorization and "
    "Cookie, goes only to the seeds' own hosts. Can be repeated.",
)
@click.option(
    "--proxy",
    metavar="URL",
    help="Send requests through this proxy; 'none' ignores HTTP_PROXY and HTTPS_PROXY, too.",
)
@click.option("--cookies", metavar="FILE", help="Send the cookies in FILE (Netscape's format).")
@click.option(
    "--workers", type=int, metavar="N", help="Processes that share the store.  [default: 1]"
)
@click.option(
    "--allow-private/--no-allow-private", default=None, help="Allow non-public IP addresses."
)
@click.option(
    "--connect-to",
    multiple=True,
    metavar="HOST:PORT:ADDR:PORT",
    help="Connect to ADDR:PORT instead of HOST:PORT, like curl. Can be repeated.",
)
@click.option(
    "--ca-file", metavar="FILE", help="Certificate authorities to trust, besides the system's."
)
@click.option(
    "--only-types",
    multiple=True,
    metavar="TYPE",
    help="Read only what has this Content-Type: text/html, text/*, or a name such as html, xml, "
    "pdf, or several with commas. Can be repeated.",
)
@click.option("--warc", metavar="DIR", help="Archive requests and responses as WARC files in DIR.")
@click.option("--log", metavar="FILE", help="Append a JSON line to FILE for each URL.")
@serve_option
@viewer_options
@json_option
@with_exit_code
def crawl(
    seeds: tuple[str, ...],
    store: str,
    config: tuple[str, ...],
    *,
    seed_lists: tuple[str, ...],
    serve: serving.Place | None,
    token: str | None,
    token_file: str | None,
    names: tuple[str, ...],
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - the settings check them
) -> int:
    """Crawl from the seed URLs, and report which links were merged.

    Options override the environment and the settings file. What has no option is a setting that
    --config sets; 'canonry settings' lists all of them.

    To resume, run the same command again, or one with the --store alone: a crawl keeps the options
    of the one that it resumes, and names them. Ctrl-C stops the crawl after the requests in flight;
    a second Ctrl-C stops it at once.
    """
    again = {name: flags[name] for name in _GROUPS["Again"]}
    own = load(config, {"crawl": again}).crawl
    before = resumed(store, with_seeds=not (seeds or seed_lists), is_again=own.is_recrawl)
    if before is None and not (seeds or seed_lists):
        raise _without_seed(store)
    serve = with_viewers(serve, token, token_file, names)
    stored = tuple(one for one in config if not one.startswith(_OF_THIS_RUN))
    options = by_name({**flags, "config": stored})
    kept = kept_options(before if own.keep_options else None, options)
    flags |= by_parameter(kept.values)
    config = flags.pop("config", config)
    if before is not None:
        tell_what_is_kept(before, kept, is_limited="max-pages" in options)
    settings = _settings_of(store, config, flags)
    if settings.crawl.recrawl and "recrawl-after" in options:
        render.notify(
            f"--recrawl-after {options['recrawl-after']} is only for pages about which nothing is "
            "known, since recrawl is on; --no-recrawl fetches all again that are older."
        )
    read = [*seed_lists, sources.file_in(config), settings.fetch.ca_file, settings.fetch.cookies]
    read.append(settings.fetch.identity)
    check_distinct([("--log", settings.crawl.log or None)], [*read, file_of_store(store)])
    for sentence in warnings_for(find_policy(settings.crawl.policy)):
        render.notify(f"canonry: {sentence}")
    listed, cuts = read_lists(seed_lists)
    if before is not None:
        seeds, listed = seeds or before.seeds, [*listed, *before.listed]
    latest = Progress()
    watched = LiveCrawl()

    def update(progress: Progress) -> None:
        nonlocal latest
        latest = progress
        watched.update(progress)
        display(progress)

    with (
        listening.served(settings.crawl.metrics, store, lambda: latest),
        serving.served(store, serve, watched, render.notify),
        live.live_display(store, settings.crawl.max_pages) as display,
    ):
        result = workers.crawl(
            seeds,
            store,
            settings,
            listed=listed,
            options=without_secrets({**options, **kept.values}),
            notify=render.notify,
            update=update,
        )
    with report.reading(store) as connection:
        store_status = report.status(connection)
    store_status["unread"] = bodies.unread_in(store_status)
    job = store_status["job"]
    seconds = result.seconds if job is None or job["seconds"] is None else job["seconds"]
    if as_json:
        print_json(
            CrawlJSON(
                program=program(),
                **store_status,
                seconds=round(seconds, 3),
                finished=result.finished and not result.is_fruitless,
                kept_options=kept.values,
                failed_seeds=last_words.as_data(result.failed_seeds, settings),
                run=result.progress,
            )
        )
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
        "--recrawl or --recrawl-after to fetch its pages again."
    )


def _settings_of(store: str, config: Sequence[str], flags: dict[str, Any]) -> Settings:
    """Return the settings of a crawl, from its parameters."""
    fetch = {key: flags.pop(key) for key in _OF_FETCH}
    for key in ("connect_to", "headers", "only_types"):
        fetch[key] = list(flags.pop(key)) or None
    for key in ("include", "exclude"):
        flags[key] = list(flags[key]) or None
    learn = {"enabled": flags.pop("learn")}
    given = {"crawl": flags, "fetch": fetch, "learn": learn}
    settings = load(config, given)
    return (
        settings if is_given(config, given, "crawl.policy") else _under_policy_of(store, settings)
    )


def _under_policy_of(store: str, settings: Settings) -> Settings:
    """Return settings with the policy of a store that was made under another preset, and say so."""
    made = preset_of_store(store)
    if made in {None, settings.crawl.policy}:
        return settings
    render.notify(f"The store's keys are of policy {made}, so this crawl has that policy, too.")
    return replace(settings, crawl=replace(settings.crawl, policy=made))

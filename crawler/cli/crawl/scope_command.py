"""The command ``scope``, and the lists of seeds of crawls."""

from collections.abc import Sequence

import click
import msgspec

from canonry.canon import Canonicalizer, InvalidURL, redact, redaction
from canonry.crawler.admission.scope import Scope
from canonry.crawler.admission.url_filter import URLFilter
from canonry.crawler.cli.described import DescribedGroup, json_option
from canonry.crawler.cli.exit_codes import FAILED
from canonry.crawler.cli.setting_options import by_section, config_option, setting_options
from canonry.crawler.cli.terminal import render
from canonry.crawler.cli.terminal.render import print_json
from canonry.crawler.files.inputs import ListedSeed, read_seed_lists
from canonry.crawler.files.line_streams import Cut
from canonry.crawler.markup import named
from canonry.crawler.named_policies import find_policy
from canonry.crawler.run.job.preparation import read_seeds
from canonry.crawler.settings import load

seeds_option = click.option(
    "--seeds",
    "seed_lists",
    multiple=True,
    metavar="FILE|-",
    help="Also read seeds from FILE, or from standard input: one on each line. Blank lines and "
    "lines that begin with # are skipped. Can be repeated.",
)


class JudgedJSON(msgspec.Struct, frozen=True, kw_only=True, rename={"inside": "in"}):
    """A URL, and whether a crawl would follow a link to it."""

    url: str
    inside: bool
    reason: str | None  # to hold it
    setting: str  # that decides
    value: str | None  # of the setting


class ScopeJSON(msgspec.Struct, frozen=True, kw_only=True):
    """Which URLs a crawl would follow."""

    urls: list[JudgedJSON]


@click.group(cls=DescribedGroup)
def scope() -> None:
    """Test which URLs a crawl would follow."""


@scope.command(
    examples=(
        "canonry scope test https://example.com/a --seed https://example.com/",
        "canonry scope test https://example.com/docs/a --include '/docs/*' --json",
    )
)
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("--seed", "seeds", multiple=True, metavar="URL", help="A seed. Can be repeated.")
@seeds_option
@config_option
@setting_options("scope", "include", "exclude")
@json_option
def test(
    urls: tuple[str, ...],
    seeds: tuple[str, ...],
    seed_lists: tuple[str, ...],
    config: tuple[str, ...],
    *,
    as_json: bool,
    **flags: str | tuple[str, ...] | None,
) -> int:
    """Show for each URL whether a crawl would follow a link to it, and which setting decides.

    The options, the environment and the settings file are those of 'canonry crawl'. Without seeds,
    all hosts count as those of seeds. Neither robots.txt nor limits on numbers of pages are tested.
    """
    settings = load(config, by_section(flags))
    limits = settings.crawl
    listed, cuts = read_lists(seed_lists)
    kind = limits.scope
    if not (seeds or listed) and kind != "any":
        render.notify(f"canonry: without a seed, --scope {kind} is not tested: give --seed URL")
        kind = "any"
    url_filter = URLFilter(
        Canonicalizer(find_policy(limits.policy)),
        Scope(kind, (), limits.include, limits.exclude),
        settings,
    )
    if seeds or listed:
        read_seeds(seeds, listed, url_filter, render.notify)
    judged = [_judge(url_filter, url) for url in urls]
    if as_json:
        print_json(ScopeJSON(urls=judged))
    else:
        for one in judged:
            place = "in " if one.inside else "out"
            about = f"{one.setting}: {one.value}" if one.value else one.setting
            click.echo(named(f"{place}  {one.url}  ({about})"))
    return FAILED if cuts or any(one.setting == "url" for one in judged) else 0


def _judge(url_filter: URLFilter, text: str) -> JudgedJSON:
    """Return the judgement of a URL as it is printed."""
    try:
        url, verdict = url_filter.judge(text)
    except InvalidURL as error:
        shown, _ = redaction.redact_refused(text)
        reason = error.reason
        return JudgedJSON(
            url=shown,
            inside=False,
            reason=reason.name.lower(),
            setting="url",
            value=reason.value,
        )
    return JudgedJSON(
        url=redact(url),
        inside=verdict.reason is None,
        reason=verdict.reason and verdict.reason.label,
        setting=verdict.setting,
        value=redact(verdict.value),
    )


def read_lists(files: Sequence[str]) -> tuple[list[ListedSeed], list[Cut]]:
    """Return the seeds of lists, and where a list breaks off, which is told."""
    listed: list[ListedSeed] = []
    cuts: list[Cut] = []
    for entry in read_seed_lists(files):
        if isinstance(entry, Cut):
            cuts.append(entry)
            render.notify(f"canonry: --seeds {entry}; the seeds before that are used")
        else:
            listed.append(entry)
    return listed, cuts

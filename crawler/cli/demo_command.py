"""The command ``demo``."""

import click
import msgspec

from canonry.crawler.cli.common import FAILED, answering, json_option, print_json
from canonry.crawler.demo import run as demo_run


@click.command()
@click.option(
    "--policy", "policies", multiple=True, help="Crawl under these  [default: web, search]."
)
@json_option
@answering
def demo(policies: tuple[str, ...], *, as_json: bool) -> int:
    """Crawl a generated site, and compare the result with the truth.

    The site is served on loopback, and each of its pages has many URLs. The demo shows how many
    pages a crawl missed, and how many it fetched more than once.
    """
    results = demo_run.run(policies or ("web", "search"))
    if as_json:
        print_json(msgspec.to_builtins(results))
    else:
        demo_run.show_results(results)
    return 0 if all(result.is_right for result in results) else FAILED

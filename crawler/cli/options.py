"""Options that several commands have."""

import click

DEFAULT_STORE = "canonry.db"

policy_option = click.option(
    "--policy",
    metavar="NAME|FILE",
    help="The policy: a preset (web, or one version: web@1), or a TOML file.  "
    "[default: that of the store or of the rules, else web]",
)
base_option = click.option("--base", metavar="URL", help="Resolve relative URLs against this URL.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
store_option = click.option(
    "--store",
    metavar="FILE|URL",
    default=DEFAULT_STORE,
    show_default=True,
    help="The store: a file, or a URL such as postgresql://USER@HOST/DATABASE.",
)
rules_option = click.option(
    "--rules",
    "rules_file",
    metavar="FILE",
    help="Apply the learned rules in FILE, which 'canonry rules export' has written.",
)


def unless_dash(_context: object, _option: object, name: str | None) -> str | None:
    """Return the name of an output; None for "-", which is standard output."""
    return None if name == "-" else name


out_option = click.option(
    "-o",
    "out",
    metavar="FILE",
    callback=unless_dash,
    help="Write to FILE, which appears when it is complete.  [default: stdout]",
)

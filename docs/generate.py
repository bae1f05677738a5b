"""Generate the pages that are made from code. ``--check`` only compares."""

import sys
from functools import partial
from pathlib import Path

from generators.api_page import api_page
from generators.commands_page import commands_page
from generators.disagreements_page import disagreements_page
from generators.exit_codes_page import exit_codes_page
from generators.grammars_page import grammars_page
from generators.json_page import SHOWN, json_page, schema_name, schema_text
from generators.log_page import log_page
from generators.man_pages import man_names, man_page
from generators.robots_page import robots_page
from generators.rules_page import rules_page
from generators.settings_page import settings_page
from generators.store_page import store_page

_DOCS = Path(__file__).parent
_PAGES = _DOCS / "reference"

PAGES = {
    "api.md": api_page,
    "robots.md": robots_page,
    "rules.md": rules_page,
    "commands.md": commands_page,
    "settings.md": settings_page,
    "store.md": store_page,
    "disagreements.md": disagreements_page,
    "grammars.md": grammars_page,
    "exit-codes.md": exit_codes_page,
    "json.md": json_page,
    "log-and-metrics.md": log_page,
    **{f"schemas/{schema_name(name)}": partial(schema_text, name) for name in SHOWN},
}
FILES = {
    **{_PAGES / name: make for name, make in PAGES.items()},
    **{_DOCS / "man" / f"{name}.1": partial(man_page, name) for name in man_names()},
}
_MADE = (_PAGES / "schemas", _DOCS / "man")  # folders that hold nothing but generated files


def left_over() -> list[Path]:
    """Return the generated files that nothing makes any more."""
    return sorted(path for folder in _MADE for path in folder.iterdir() if path not in FILES)


def main() -> int:
    """Write the files, or report which are out of date."""
    stale = []
    for path, make in FILES.items():
        if "--check" in sys.argv:
            if not path.exists() or path.read_text(encoding="utf-8") != make():
                stale.append(path)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(make(), encoding="utf-8")
    for path in left_over():
        if "--check" in sys.argv:
            stale.append(path)
        else:
            path.unlink()
    if stale:
        names = ", ".join(path.relative_to(_DOCS).as_posix() for path in stale)
        sys.stderr.write(f"out of date, in docs: {names}; run: make docs\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())

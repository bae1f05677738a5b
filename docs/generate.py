"""Generate the pages that are made from code. ``--check`` only compares.

``--schemas FOLDER`` writes the schemas of what ``--json`` prints instead.
"""

import sys
from pathlib import Path

from generators.api_page import api_page
from generators.commands_page import commands_page
from generators.disagreements_page import disagreements_page
from generators.exit_codes_page import exit_codes_page
from generators.grammars_page import grammars_page
from generators.json_page import SHOWN, json_page, schema_name, schema_text
from generators.log_page import log_page
from generators.reasons_page import reasons_page
from generators.robots_page import robots_page
from generators.rules_page import rules_page
from generators.settings_page import settings_file, settings_page
from generators.store_page import store_page

_DOCS = Path(__file__).resolve().parent
_PAGES = _DOCS / "reference"

PAGES = {
    "api.md": api_page,
    "reasons.md": reasons_page,
    "robots.md": robots_page,
    "rules.md": rules_page,
    "commands.md": commands_page,
    "settings.md": settings_page,
    "../../config/canonry.toml": settings_file,
    "store.md": store_page,
    "disagreements.md": disagreements_page,
    "grammars.md": grammars_page,
    "exit-codes.md": exit_codes_page,
    "json.md": json_page,
    "log-and-metrics.md": log_page,
}


def main() -> int:
    """Write the pages, or report which are out of date."""
    if "--schemas" in sys.argv:
        folder = Path(sys.argv[-1])
        folder.mkdir(parents=True, exist_ok=True)
        for command in SHOWN:
            (folder / schema_name(command)).write_text(schema_text(command), encoding="utf-8")
        return 0
    stale = []
    for name, make in PAGES.items():
        path = (_PAGES / name).resolve()
        if "--check" in sys.argv:
            if not path.exists() or path.read_text(encoding="utf-8") != make():
                stale.append(path)
        else:
            path.write_text(make(), encoding="utf-8")
    if stale:
        names = ", ".join(path.relative_to(_DOCS.parent).as_posix() for path in stale)
        sys.stderr.write(f"out of date: {names}; run: make docs\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())

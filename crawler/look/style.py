"""The style that all pages share."""

from pathlib import Path

STYLE = Path(__file__).parents[1] / "web/static/style.css"


def sheet() -> str:
    """Return the style sheet, for a page that holds all it needs.

    Raises:
        OSError: the installation is not complete.
    """
    return STYLE.read_text(encoding="utf-8")

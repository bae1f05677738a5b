"""``python -m crawler`` is the command ``canonry``."""

from crawler.cli import main

main()

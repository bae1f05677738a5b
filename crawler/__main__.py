"""``python -m crawler`` is the command ``canonry``."""

from canonry.crawler.cli.commands import main

main()

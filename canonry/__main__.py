"""``python -m canonry`` runs the command ``canonry``."""

from canonry.crawler.cli.commands import main

main()

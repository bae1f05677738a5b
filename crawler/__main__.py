"""``python -m crawler`` is the command ``canonry``."""

from canonry.__main__ import main

main()

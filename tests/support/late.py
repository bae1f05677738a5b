"""Modules that are imported when a test uses them: each process of a test run reads all files."""

from importlib import import_module
from typing import Any


class Late:
    """A module that takes long to import, and need not be installed."""

    def __init__(self, name: str) -> None:
        """Name it."""
        self._name = name

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the module has
        """Import it, and return something of it."""
        return getattr(import_module(self._name), name)

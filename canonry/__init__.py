"""Canonry decides which URLs are the same.

This package is the library: canonical forms, keys and explanations. It does no I/O. The store is in
`canonry.storage`; the crawl, the dedup and the command are in `canonry.crawler`.

The library is imported when one of its names is first used, so that the command can begin at once.
"""

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, which would have to be imported
if TYPE_CHECKING:
    from canonry.canon.names import *  # noqa: F403 - the library's names are the package's own
else:  # a type checker would take every name for one of ours

    def __getattr__(name: str) -> object:
        """Import the library, and return a name of it."""
        library = import_module("canonry.canon")
        names = {each: getattr(library, each) for each in library.__all__}
        globals().update(names, canon=library, __all__=["__version__", *names])
        if name not in globals():
            raise AttributeError(f"module 'canonry' has no attribute {name!r}", name=name, obj=None)
        return globals()[name]


__version__ = "0.1.0"
# The name of the command; variables, files and the user agent begin with it.
__title__ = "canonry"


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(["__version__", "canon", *import_module("canonry.canon").__all__])

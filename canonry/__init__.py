"""Canonry decides which URLs are the same.

This package is the library: canonical forms, keys and explanations. It does no I/O. The store is in
`canonry.storage`; the crawl, the dedup and the command are in `canonry.crawler`.
"""

from canonry import canon
from canonry.canon import *  # noqa: F403 - the library's public names are the package's own

__version__ = "0.1.0"

__all__ = ["__version__"]
__all__ += canon.__all__

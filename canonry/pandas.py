"""Canonry for pandas: ``frame["url"].canonry.identity()``, once this module is imported."""

from canonry.extras import require

require("pandas", "canonry.pandas")

from canonry.crawler.adapters.frames.pandas_accessor import CanonryAccessor  # noqa: E402 - the check comes first

__all__ = ["CanonryAccessor"]

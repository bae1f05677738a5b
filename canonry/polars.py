"""Canonry for Polars: ``pl.col("url").canonry.identity()``, once this module is imported."""

from canonry.extras import require

require("polars", "canonry.polars")

from canonry.crawler.adapters.frames.polars_namespace import CanonryExpr, CanonrySeries  # noqa: E402 - the check comes first

__all__ = ["CanonryExpr", "CanonrySeries"]

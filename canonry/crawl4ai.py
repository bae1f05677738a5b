"""Canonry for crawl4ai: ``FilterChain([DistinctFilter(seen=[start])])``."""

from canonry.extras import require

require("crawl4ai", "canonry.crawl4ai")

from canonry.crawler.adapters.crawl4ai import DistinctFilter  # noqa: E402 - the check says how to install it

__all__ = ["DistinctFilter"]

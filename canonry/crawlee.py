"""Canonry for Crawlee: ``enqueue_links(transform_request_function=UniqueKeys())``."""

from canonry.extras import require

require("crawlee", "canonry.crawlee")

from canonry.crawler.adapters.crawlee import UniqueKeys  # noqa: E402 - the check says how to install it

__all__ = ["UniqueKeys"]

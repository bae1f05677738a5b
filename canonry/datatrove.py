"""Canonry for datatrove: ``ExactDedupConfig(content_getter=url_key())``."""

from canonry.extras import require

require("datatrove", "canonry.datatrove")

from canonry.crawler.adapters.datatrove import url_key  # noqa: E402 - the check says how to install it

__all__ = ["url_key"]

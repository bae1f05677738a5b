"""`canonicalize_url` as w3lib has it."""

from canonry.crawler.adapters.compat.w3lib import canonicalize_url

__all__ = ["canonicalize_url"]

"""Canonry for any crawler: `ClaimedURLs` hands out each resource once."""

from canonry.extras import naming_extra

with naming_extra("canonry.claims"):
    from canonry.crawler.adapters.claimed_urls import ClaimedURLs

__all__ = ["ClaimedURLs"]

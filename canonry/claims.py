"""Canonry for any crawler: `ClaimedURLs` hands out each resource once."""

from canonry.crawler.adapters.claimed_urls import ClaimedURLs

__all__ = ["ClaimedURLs"]

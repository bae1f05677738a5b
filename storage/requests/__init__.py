"""Requests of other crawlers: claim and queue row are one; the workers that hold them."""

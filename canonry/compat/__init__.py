"""The keys of other programs, for users who must keep old keys while they migrate."""

from canonry.crawler.adapters.compat import OLD_KEYS, MapRow, fingerprint, map_url, surt

__all__ = ["OLD_KEYS", "MapRow", "fingerprint", "map_url", "surt"]

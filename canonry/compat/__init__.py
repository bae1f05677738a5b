"""The keys of other programs: `surt`, `w3lib.canonicalize_url`, and the map from them to ours."""

from canonry.crawler.adapters.compat import OLD_KEYS, MapRow, fingerprint, map_keys, surt

__all__ = ["OLD_KEYS", "MapRow", "fingerprint", "map_keys", "surt"]

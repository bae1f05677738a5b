"""Published keys in a program: ``canonry.seen.is_seen(urls, "https://example.org/seen/")``."""

from canonry.extras import naming_extra

with naming_extra("canonry.seen"):
    from canonry.crawler.key_files.seen_file import is_seen

__all__ = ["is_seen"]

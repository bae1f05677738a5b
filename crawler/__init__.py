"""The programs: the crawl, the batch dedup, and the command."""

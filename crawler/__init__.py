"""Everything that runs: the crawl, the batch dedup, the command."""

"""What others see of a crawl: progress, the log, metrics, WARC files."""

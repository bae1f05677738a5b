"""Observing a crawl: progress, logs, metrics and WARC files."""

"""The job of a crawl in its store: begun, gone on with, and those that were killed."""

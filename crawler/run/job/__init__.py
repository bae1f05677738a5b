"""The job of a crawl in its store: begun, gone on with, killed, and what came of its seeds."""

"""The job of a crawl in its store: its preparation, its owners and the results of its seeds."""

"""The live page: what a crawl does, what was merged, and why."""

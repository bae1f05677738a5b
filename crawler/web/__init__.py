"""The live page: shows what a crawl does, which URLs were merged, and why."""

"""The commands that crawl, show a crawl, and test its scope."""

"""A site made for the purpose, whose truth is known, and the crawl that is measured on it."""

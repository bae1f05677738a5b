"""The demo: a generated site, and a crawl of it whose result is compared with the truth."""

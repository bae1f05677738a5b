"""Rows of a crawl: URLs, leased hosts, pages, merges, budgets and cached robots.txt files."""

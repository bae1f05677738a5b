"""Requests of other crawlers: a queue whose rows are claims, and the workers on it."""

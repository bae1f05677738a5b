"""Learned rules, and the classes of URLs that they merge."""

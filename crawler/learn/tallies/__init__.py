"""Tallies: what the URLs of a site say about one rule, and how many of them do."""

"""Clusters: every known URL of each resource, for a search index, and what changed of them."""

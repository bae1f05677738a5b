"""Clusters: all known URLs of each resource, and their changes, for a search index."""

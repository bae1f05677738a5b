"""A store as the frontier of another engine: the URLFrontier API."""

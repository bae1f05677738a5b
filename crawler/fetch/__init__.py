"""Requests to servers: the HTTP client, the address guard, robots.txt and faults."""

"""Asking servers: the HTTP client, addresses that may be asked, robots.txt."""

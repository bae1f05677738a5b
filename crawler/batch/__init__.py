"""Dedup: from files of URLs to one line for each distinct resource."""

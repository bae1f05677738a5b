"""Admission: which links become URLs to fetch."""

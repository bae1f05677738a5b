"""Canonicalization rules: the table of them, and the functions that apply them."""

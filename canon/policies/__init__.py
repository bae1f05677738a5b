"""Policies: which rules make the identity, read from TOML."""

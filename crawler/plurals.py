"""Counts with their nouns, for people."""


def counted(number: int, noun: str) -> str:
    """Return a count with its noun: "1 page", "2,000 pages"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"

"""Cells of tables on generated pages."""


def code(text: str) -> str:
    """Return a text as code in a table cell."""
    return f"`{text.encode('unicode_escape').decode().replace('|', chr(92) + '|')}`"

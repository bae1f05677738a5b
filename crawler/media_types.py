"""Media types, as the header ``Content-Type`` names them (RFC 9110 section 8.3.1)."""


def media_type(content_type: str | None) -> str:
    """Return a content type without its parameters, in lower case; "" for none."""
    return (content_type or "").partition(";")[0].strip().lower()

"""Queries as form fields, split without loss (URL Standard section 5.1)."""


def fields(query: str) -> list[str]:
    """Split a query into its fields, as written; ``"&".join(fields(query)) == query``."""
    return query.split("&")


def name(field: str) -> str:
    """Return the name of a field, as written: the part before the first equals sign."""
    return field.partition("=")[0]


def is_form(query: str) -> bool:
    """Return True if every field is ``name=value``; only then can order be meaningless.

    ``/topic/1``, ``a+b`` and ``x&y`` are not forms: programs read such queries as one text.
    """
    return all("=" in field[1:] for field in fields(query))

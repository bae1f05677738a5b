"""Queries as the fields of a form, without loss (URL Standard section 5.1)."""


def fields(query: str) -> list[str]:
    """Split a query into its fields, as written; ``"&".join(fields(query)) == query``."""
    return query.split("&")


def name(field: str) -> str:
    """Return the name of a field, as written: what stands before the first equals sign."""
    return field.partition("=")[0]


def is_form(query: str) -> bool:
    """Say whether every field is ``name=value``, so that order can be thought of as meaningless.

    ``/topic/1``, ``a+b`` and ``x&y`` are no forms: programs read such queries as they stand.
    """
    return all("=" in field[1:] for field in fields(query))

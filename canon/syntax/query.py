"""Queries as form fields, split without loss (URL Standard section 5.1)."""

import re
from functools import lru_cache

_FIELD = re.compile(r"[A-Za-z_][\w.\-]*=")


def fields(query: str) -> list[str]:
    """Split a query into its fields, as written; ``"&".join(fields(query)) == query``."""
    return query.split("&")


def name(field: str) -> str:
    """Return the name of a field, as written: the part before the first equals sign."""
    return field.partition("=")[0]


def with_ampersands(query: str) -> str:
    """Replace the ``;`` between the fields of a query with ``&``.

    Programs may accept either (HTML 4.01, appendix B.2.2). If the query has an ``&``, or a part is
    no ``name=value``, each ``;`` is data, and the query stays as it is.
    """
    if ";" not in query or "&" in query:
        return query
    parts = query.split(";")
    return "&".join(parts) if all(_FIELD.match(part) for part in parts) else query


@lru_cache(maxsize=4096)  # a URL is often compared several times
def names(query: str) -> tuple[str, ...]:
    """Return the names of a query's fields, in order, with repetitions."""
    return tuple(map(name, fields(query)))


def is_form(query: str) -> bool:
    """Return True if every field is ``name=value``; only then can order be meaningless.

    ``/topic/1``, ``a+b`` and ``x&y`` are not forms: programs read such queries as one text.
    """
    return all("=" in field[1:] for field in fields(query))

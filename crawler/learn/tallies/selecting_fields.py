"""Selecting fields: what a URL has where a rule says that nothing selects. Pure.

A rule about a parameter speaks for all of its values, and is proven with some: the first page of
each list, for one. So a value that has no evidence is worth a request.
"""

import re

from canonry.canon.learned import Rewrite
from canonry.canon.syntax import query

_IN_QUERY = frozenset(
    {
        "parameter-irrelevant",
        "parameter-group",
        "parameter-mix",
        "parameter-of-page",
        "parameter-anywhere",
    }
)
_IN_PATH = re.compile(r";([^;/?#]+)")


def selecting_fields(rewrite: Rewrite, url: str) -> tuple[str, ...]:
    """Return the fields of a URL that a rule drops, as ``page=2``; none if it is of another kind.

    Args:
        rewrite: what the rule says.
        url: an identity that it changes.
    """
    if rewrite.family in _IN_QUERY:
        names = rewrite.old.split("&")
        fields = query.fields(url.partition("#")[0].partition("?")[2])
    elif rewrite.family == "path-parameter":
        names, fields = [rewrite.old], _IN_PATH.findall(url.partition("?")[0])
    else:
        return ()
    return tuple([field for field in fields if query.name(field) in names])

"""The lists that some rules read: names of query parameters and of files."""

from typing import NamedTuple


class Parameters(NamedTuple):
    """The lists of one policy; names of query parameters are in lower case."""

    tracking: frozenset[str] = frozenset()  # query parameters, for the rule "tracking"
    tracking_prefixes: tuple[str, ...] = ()  # prefixes of more such names
    session: frozenset[str] = frozenset()  # query parameters, for the rule "session-id"
    index_files: frozenset[str] = frozenset()  # file names, for the rule "index-file"

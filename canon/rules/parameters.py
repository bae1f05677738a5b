"""The lists that rules read: names of parameters and of files. A policy supplies them."""

from typing import NamedTuple


class Parameters(NamedTuple):
    """The lists of one policy. Names of query parameters are in lower case."""

    tracking: frozenset[str] = frozenset()  # query parameters, for the rule "tracking"
    tracking_prefixes: tuple[str, ...] = ()  # how other such parameters begin
    session: frozenset[str] = frozenset()  # query parameters, for the rule "session-id"
    index_files: frozenset[str] = frozenset()  # file names, for the rule "index-file"

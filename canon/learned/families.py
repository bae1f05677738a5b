"""THE table of families: every kind of rule that can be learned about a host.

Each family says what it does to a URL, which fields it takes, and how to describe it to people.
The families run in the order of the table. Those that change the host name come last, so that the
other rules of a host run first; and mixes and groups of parameters come before single ones, which
would break them up.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from canonry.canon.learned import actions, family_fields, prefilters
from canonry.canon.learned.parameters import Removal
from canonry.canon.learned.rewrite import Rewrite, site_of
from canonry.canon.rules.rule import Rule, Rung
from canonry.canon.syntax.parts import Parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Family(Rule):
    """A row of the table.

    Attributes:
        apply: rewrites a URL that the rewrite covers. Total; returns the same object if it changes
            nothing.
        prefilter: returns a test of a URL's text. A URL that fails it is not changed and need not
            be split; one that passes may still not be changed.
        check: returns what is wrong with the fields of a rewrite, or None.
        describe: says for people what a rewrite does.
        example: the fields with which ``before`` becomes ``after`` on ``example.com``.
        moves_host: True if it changes the host name.
        can_chain: True if one rewrite's result may be another rewrite's input, so that several
            could form a circle.
        by_query: True if each query of a path is evidence of its own: the rule is not about paths.
        one_page: True if a rule is about one page: each of its URLs is evidence of its own.
        one_to_one: True if no two URLs that a rule changes become one.
        named: True if it is only for host names without a port: with a port or an address, another
            scheme or host name may lead elsewhere.
        removes: which fields of a query it removes, if that is what it does.
    """

    apply: Callable[[Parts, Rewrite], Parts]
    prefilter: Callable[[Rewrite], prefilters.Prefilter]
    check: Callable[[Rewrite], str | None]
    describe: Callable[[Rewrite], str]
    example: Mapping[str, Any] = field(default_factory=dict)
    moves_host: bool = False
    can_chain: bool = False
    by_query: bool = False
    one_page: bool = False
    one_to_one: bool = False
    named: bool = False
    removes: Removal | None = None


_SLASHES = {
    "slash": "a path is the same with a slash behind it",
    "bare": "a path is the same without the slash behind it",
    "file": "a file is the same without the slash behind it",
}


def _beside(rewrite: Rewrite) -> str:
    return f" beside {', '.join(rewrite.beside)}" if rewrite.beside else ""


def _names(rewrite: Rewrite) -> str:
    return ", ".join(rewrite.old.split("&"))


def _describe_parameter(rewrite: Rewrite) -> str:
    return f"parameter {rewrite.old} selects nothing{_beside(rewrite)}"


def _describe_group(rewrite: Rewrite) -> str:
    return f"together, parameters {_names(rewrite)} select nothing{_beside(rewrite)}"


def _describe_mix(rewrite: Rewrite) -> str:
    return f"parameters {_names(rewrite)} select nothing{_beside(rewrite)}, in any mix"


def _describe_default(rewrite: Rewrite) -> str:
    them = "them" if "&" in rewrite.old else "it"
    return f"{rewrite.old} is the same as without {them}{_beside(rewrite)}"


def _describe_page(rewrite: Rewrite) -> str:
    return f"{rewrite.new} is one page, whatever parameter {rewrite.old} is"


def _describe_anywhere(rewrite: Rewrite) -> str:
    spelled = ", in any letter case," if rewrite.new else ""
    return f"parameter {rewrite.old}{spelled} selects nothing, whatever the others are"


def _describe_selection(rewrite: Rewrite) -> str:
    if not rewrite.beside:
        return "the query selects nothing"
    return f"where it has {', '.join(rewrite.beside)}, nothing else in the query selects"


def _learned(name: str, **row: object) -> Family:
    """Return a row, with what all rows have in common."""
    return Family(
        name=f"learned-{name}",
        cites="RFC 3986 section 6.2.4",
        rung=Rung.PROTOCOL,
        lossless=False,
        **row,  # type: ignore[arg-type]
    )


def _removing(name: str, removes: Removal, **row: object) -> Family:
    """Return the row of a family that removes fields of a query."""
    does = {"apply": removes.apply, "prefilter": removes.prefilter, "check": removes.check}
    return _learned(name, removes=removes, by_query=True, **does, **row)


FAMILIES: dict[str, Family] = {
    "scheme-upgrade": _learned(
        "scheme-upgrade",
        why="The host answers http with the same page on https.",
        before="http://example.com/a",
        after="https://example.com/a",
        apply=actions.upgrade_scheme,
        prefilter=lambda _: prefilters.HTTP,
        check=family_fields.takes_none,
        describe=lambda _: "http is https",
        named=True,
        by_query=True,
        one_to_one=True,
    ),
    "path-parameter": _learned(
        "path-parameter",
        why="The parameter in the path selects nothing on this host, as a session's identifier.",
        before="http://example.com/a;sid=1/b;sid=1",
        after="http://example.com/a/b",
        example={"old": "sid"},
        apply=actions.drop_path_parameter,
        prefilter=prefilters.old,
        check=family_fields.takes_path_parameter,
        describe=lambda rewrite: f"path parameter {rewrite.old} selects nothing",
        by_query=True,
    ),
    "session-segment": _learned(
        "session-segment",
        why="The segment with a session's identifier selects nothing on this host.",
        before="http://example.com/(S(x1y2z3))/a",
        after="http://example.com/a",
        apply=actions.drop_session_segment,
        prefilter=lambda _: actions.SESSION_SEGMENT.search,
        check=family_fields.takes_none,
        describe=lambda _: "a session's segment, such as (S(x1y2z3)), selects nothing",
        by_query=True,
    ),
    "path-slug": _learned(
        "path-slug",
        why="The words beside an id select nothing on this host.",
        before="http://example.com/article/7/any-words",
        after="http://example.com/article/7",
        example={"old": "id/slug"},
        apply=actions.drop_slug,
        prefilter=lambda _: prefilters.DIGITS,
        check=family_fields.takes_slug,
        describe=lambda rewrite: f"the words in {rewrite.old} select nothing",
    ),
    "double-slash": _learned(
        "double-slash",
        why="The host takes several slashes in a path for one.",
        before="http://example.com/a//b",
        after="http://example.com/a/b",
        apply=actions.fold_slashes,
        prefilter=lambda _: prefilters.SLASHES,
        check=family_fields.takes_none,
        describe=lambda _: "several slashes are one",
    ),
    "path-prefix": _learned(
        "path-prefix",
        why="The host moved a directory.",
        before="http://example.com/old/a",
        after="http://example.com/new/a",
        example={"old": "/old/", "new": "/new/"},
        apply=actions.move_prefix,
        prefilter=prefilters.prefix,
        check=family_fields.takes_prefixes,
        describe=lambda rewrite: f"{rewrite.old} is {rewrite.new}",
        can_chain=True,
        one_to_one=True,
    ),
    "index-file": _learned(
        "index-file",
        why="The host's name for a directory's default document.",
        before="http://example.com/a/home.php",
        after="http://example.com/a/",
        example={"old": "home.php"},
        apply=actions.drop_index_file,
        prefilter=prefilters.old,
        check=family_fields.takes_index_file,
        describe=lambda rewrite: f"{rewrite.old} is its directory",
        one_to_one=True,
    ),
    "letter-case": _learned(
        "letter-case",
        why="The host does not tell upper from lower case in paths.",
        before="http://example.com/About",
        after="http://example.com/about",
        apply=actions.lower_path,
        prefilter=lambda _: prefilters.CAPITALS,
        check=family_fields.takes_none,
        describe=lambda _: "upper case is lower case in paths",
    ),
    "trailing-slash": _learned(
        "trailing-slash",
        why="The host's paths mean the same with a slash at the end and without.",
        before="http://example.com/a",
        after="http://example.com/a/",
        example={"new": "slash"},
        apply=actions.set_final_slash,
        prefilter=prefilters.final_slash,
        check=family_fields.takes_slash,
        describe=lambda rewrite: _SLASHES[rewrite.new],
        one_to_one=True,
    ),
    "parameter-separator": _learned(
        "parameter-separator",
        why="The host writes ';' between parameters.",
        before="http://example.com/a?f=x;id=1",
        after="http://example.com/a?f=x&id=1",
        apply=actions.separate_by_ampersands,
        prefilter=lambda _: prefilters.has_semicolons,
        check=family_fields.takes_none,
        describe=lambda _: "';' between parameters is '&'",
        by_query=True,
        one_to_one=True,
    ),
    "parameter-mix": _removing(
        "parameter-mix",
        Removal("names"),
        why="The parameters select nothing on this host, whichever of them are there.",
        before="http://example.com/a?id=1&ref=x&view=list",
        after="http://example.com/a?id=1",
        example={"old": "from&ref&view", "beside": ("id",)},
        describe=_describe_mix,
    ),
    "parameter-group": _removing(
        "parameter-group",
        Removal("names", together=True),
        why="Together, the parameters select nothing on this host.",
        before="http://example.com/a?from=x&id=1&run=7",
        after="http://example.com/a?id=1",
        example={"old": "from&run", "beside": ("id",)},
        describe=_describe_group,
    ),
    "parameter-irrelevant": _removing(
        "parameter-irrelevant",
        Removal("name"),
        why="The parameter selects nothing on this host.",
        before="http://example.com/a?id=1&ref=x",
        after="http://example.com/a?id=1",
        example={"old": "ref", "beside": ("id",)},
        describe=_describe_parameter,
    ),
    "parameter-default": _removing(
        "parameter-default",
        Removal("fields", together=True),
        why="The parameter has the value that the host takes where it is missing.",
        before="http://example.com/a?id=1&page=1",
        after="http://example.com/a?id=1",
        example={"old": "page=1", "beside": ("id",)},
        describe=_describe_default,
    ),
    "parameter-of-page": _removing(
        "parameter-of-page",
        Removal("name", left="page"),
        why="The parameter selects nothing on this page, as where to return to after logging in.",
        before="http://example.com/login?next=%2Fa",
        after="http://example.com/login",
        example={"old": "next", "new": "/login"},
        describe=_describe_page,
        one_page=True,
    ),
    "parameter-anywhere": _removing(
        "parameter-anywhere",
        Removal("name", left=""),
        why="The parameter selects nothing on this host, whatever the others are.",
        before="http://example.com/a?id=1&ref=x",
        after="http://example.com/a?id=1",
        example={"old": "ref"},
        describe=_describe_anywhere,
    ),
    "query-selection": _removing(
        "query-selection",
        Removal(""),
        why="Of the parameters, only some select content on this host.",
        before="http://example.com/a?id=1&ref=x",
        after="http://example.com/a?id=1",
        example={"beside": ("id",)},
        describe=_describe_selection,
    ),
    "parameter-order": _learned(
        "parameter-order",
        why="The order of parameters means nothing on this host.",
        before="http://example.com/a?b=1&a=2",
        after="http://example.com/a?a=2&b=1",
        apply=actions.sort_parameters,
        prefilter=lambda _: prefilters.is_unsorted,
        check=family_fields.takes_none,
        describe=lambda _: "the order of parameters means nothing",
        by_query=True,
    ),
    "www": _learned(
        "www",
        why="The host is the same with 'www.' before its name and without.",
        before="http://example.com/a",
        after="http://www.example.com/a",
        example={"new": "www.example.com"},
        apply=actions.rename_host,
        prefilter=prefilters.host,
        check=family_fields.takes_www,
        describe=lambda rewrite: f"it is {rewrite.new}",
        moves_host=True,
        can_chain=True,
        named=True,
        by_query=True,
        one_to_one=True,
    ),
    "host-alias": _learned(
        "host-alias",
        why="The host is another name of a host, or has moved there.",
        before="http://example.com/a",
        after="http://example.org/a",
        example={"new": "example.org"},
        apply=actions.rename_host,
        prefilter=prefilters.host,
        check=family_fields.takes_host,
        describe=lambda rewrite: f"it is {rewrite.new}",
        moves_host=True,
        can_chain=True,
        named=True,
        by_query=True,
        one_to_one=True,
    ),
}
ORDER = {name: place for place, name in enumerate(FAMILIES)}


def applies_to(rewrite: Rewrite, parts: Parts) -> bool:
    """Return True if a rewrite covers a URL: on its site, below its path."""
    return parts.path.startswith(rewrite.below) and rewrite.covers(site_of(parts))


def act(rewrite: Rewrite, parts: Parts) -> Parts:
    """Apply a rewrite to a URL; return the same object if it changes nothing."""
    return FAMILIES[rewrite.family].apply(parts, rewrite) if applies_to(rewrite, parts) else parts


def describe(rewrite: Rewrite) -> str:
    """Return a sentence for people that says what a rewrite does."""
    where = f"{rewrite.host}{rewrite.below if rewrite.below != '/' else ''}"
    if rewrite.subdomains:
        where = f"{where} and its subdomains"
    return f"{where}: {FAMILIES[rewrite.family].describe(rewrite)}"

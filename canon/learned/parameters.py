"""The families that remove parameters from a query: one action, which a row of fields describes."""

import re
from typing import Literal, NamedTuple

from canonry.canon.learned.family_fields import takes_none
from canonry.canon.learned.prefilters import ANY_QUERY, Prefilter, names_in
from canonry.canon.learned.rewrite import Rewrite
from canonry.canon.syntax import grammar, query
from canonry.canon.syntax.parts import Parts

_PLAIN_HOST = re.compile(r"[a-z0-9\-]+(?:\.[a-z0-9\-]+)*")  # RFC 1123 section 2.1
_NAME = re.compile("[^&=#]+").fullmatch  # of a parameter in a query
_OLD = {
    "name": "a parameter's name",
    "names": "the names of two parameters or more, with '&' between",
    "fields": "a parameter with '=' and its value, as page=1",
}
_SELECTING = "'beside' has to be the names of the parameters that select content, sorted"


class Removal(NamedTuple):
    """Which fields of a query a family removes, and beside which others.

    Attributes:
        old: what a rewrite has as ``old``: the name of a parameter, the names of several, or
            fields, as ``page=1`` or ``do=&sort=a``. With "", all parameters go but those in
            ``beside``, and each of these has to be there, with a value.
        together: True if all of them have to be there; fields, each once.
        left: what has to be left: the parameters in ``beside``, the page in ``new`` (a path and the
            other fields), or "", anything; then ``new`` may be ``any-case``.
    """

    old: Literal["name", "names", "fields", ""]
    together: bool = False
    left: Literal["beside", "page", ""] = "beside"

    def apply(self, parts: Parts, rewrite: Rewrite) -> Parts:
        """Remove the fields; return the same object if there are none, or if others are left."""
        if parts.query is None or (self._is_shared and _is_odd_subdomain(parts, rewrite)):
            return parts
        fields = query.fields(parts.query)
        if not self.old:
            rest = [field for field in fields if query.name(field) in rewrite.beside]
        elif self.old == "fields":
            rest = [field for field in fields if field not in rewrite.old.split("&")]
        elif rewrite.new == "any-case":
            rest = [field for field in fields if query.name(field).lower() != rewrite.old]
        else:
            old = rewrite.old.split("&")
            rest = [field for field in fields if query.name(field) not in old]
        if len(rest) == len(fields) or (self.together and not self._has_all(fields, rewrite)):
            return parts
        if self.left and not self._is_left(parts.path, rest, rewrite):
            return parts
        return parts.with_query("&".join(rest) if rest else None)

    def _has_all(self, fields: list[str], rewrite: Rewrite) -> bool:
        """Return True if all of ``old`` are among some fields; and as fields, each once."""
        old = rewrite.old.split("&")
        if self.old == "fields":
            return sorted(field for field in fields if field in old) == sorted(old)
        return {*old}.issubset(map(query.name, fields))

    def _is_left(self, path: str, rest: list[str], rewrite: Rewrite) -> bool:
        """Return True if a path and some fields are what has to be left."""
        beside = rewrite.beside
        if self.left == "page":
            page, _, others = rewrite.new.partition("?")
            return path == page and "&".join(rest) == others
        if not (rest and beside):
            return not rest and not beside
        if {*map(query.name, rest)} != {*map(query.name, beside)}:
            return False
        if not self.old:
            return all(field.partition("=")[2] for field in rest)
        return all(one in rest for one in beside if "=" in one)

    @property
    def _is_shared(self) -> bool:
        """Return True for the families that shared lists of rules are converted to."""
        return not self.old or not self.left

    def names(self, rewrite: Rewrite) -> frozenset[str] | None:
        """Return all names in the queries that a rewrite can change; None: there may be others."""
        if self.left != "beside" or not (self.together or self.old == "name"):
            return None
        return frozenset(map(query.name, (*rewrite.old.split("&"), *rewrite.beside)))

    def prefilter(self, rewrite: Rewrite) -> Prefilter:
        """Return the prefilter of a rewrite."""
        if not self.old or rewrite.new == "any-case":
            return ANY_QUERY
        if not self.left:
            return re.compile(rf"[?&]{re.escape(rewrite.old)}(?![^=&#])").search
        removed = rewrite.old if self.left == "page" else rewrite.old.split("&")[0]
        if self.left == "page":
            start = rewrite.new.partition("?")[0] + "?"
            return lambda url: start in url and removed in url
        if (exact := self.names(rewrite)) is not None:
            return lambda url: removed in url and names_in(url) == exact
        beside = frozenset(map(query.name, rewrite.beside))
        either = beside.union(rewrite.old.split("&"))
        return lambda url: "?" in url and beside < names_in(url) <= either

    def check(self, rewrite: Rewrite) -> str | None:
        """Return what is wrong with the fields of a rewrite, or None."""
        beside = [query.name(one) for one in rewrite.beside]
        if not self.old:
            is_right = list(rewrite.beside) == sorted(set(beside)) and all(map(_NAME, beside))
            return takes_none(rewrite) or (None if is_right else _SELECTING)
        old = rewrite.old.split("&")
        names = [query.name(one) for one in old] if self.old == "fields" else old
        if wrong := self._fault_of_old(old, rewrite):
            return wrong
        if names != sorted(set(names)):
            return "the parameters in 'old' have to be sorted by name, each once"
        if rewrite.new == "any-case" and rewrite.old != rewrite.old.lower():
            return "with 'any-case', 'old' has to be in lower case"
        if beside != sorted(set(beside) - set(names)):
            return "'beside' has to be the names of the other parameters, sorted; or fields, as a=1"
        return None

    def _fault_of_old(self, old: list[str], rewrite: Rewrite) -> str | None:
        """Return what ``old`` and ``new`` have to be, or None if they are that."""
        if self.old == "fields":
            is_right = "#" not in rewrite.old and all("=" in field[1:] for field in old)
        else:
            is_right = all(map(_NAME, old)) and (len(old) > 1) == (self.old == "names")
        if self.left == "page":
            return _fault_of_page(rewrite) if is_right else f"'old' has to be {_OLD[self.old]}"
        if is_right and rewrite.new in ({""} if self.left else {"", "any-case"}):
            return None
        new = "empty" if self.left else "empty or 'any-case'"
        return f"'old' has to be {_OLD[self.old]}, and 'new' {new}"


def _fault_of_page(rewrite: Rewrite) -> str | None:
    """Return what ``new`` has to be: a path, and perhaps a query with other parameters."""
    path, mark, others = rewrite.new.partition("?")
    if not grammar.matches("path-absolute", path) or (
        mark and not grammar.matches("query", others)
    ):
        return "'new' has to be a path, or a path and a query: all that is left of each URL"
    fields = others.split("&") if others else []
    if bool(mark) is not bool(others) or rewrite.old in map(query.name, fields):
        return "the query in 'new' has to have other parameters than that in 'old'"
    return None


def _is_odd_subdomain(parts: Parts, rewrite: Rewrite) -> bool:
    """Return True for a host such as ``a_b.example.com`` below the host of a rule.

    In shared lists of rules, subdomains are only the names that RFC 1123 allows.
    """
    return rewrite.subdomains and not _PLAIN_HOST.fullmatch(parts.host or "")

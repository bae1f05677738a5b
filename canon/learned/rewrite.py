"""What a learned rule says: one family with its fields filled in, for one host."""

from functools import cache
from typing import Any

import msgspec
from msgspec.structs import astuple, fields


class Rewrite(msgspec.Struct, frozen=True, order=True, cache_hash=True, forbid_unknown_fields=True):
    """One family with its fields filled in: which URLs of a site equal which others.

    A rewrite is typed: it fills in the fields of one family and is never a free pattern. So no
    file of rules can merge more than its families merge.

    Attributes:
        host: the site: a host, with its port if its URLs have one, as in ``h.example:8080``.
        family: a name in the table of families.
        below: the part of the host that the rewrite covers, a path that ends with a slash.
        old: what the family replaces or removes.
        new: what the family puts there.
        beside: the names of the other parameters in the query, sorted.
        subdomains: True if the rewrite also covers the hosts below ``host``.
        but: hosts below ``host`` that it does not cover.
    """

    host: str
    family: str
    below: str = "/"
    old: str = ""
    new: str = ""
    beside: tuple[str, ...] = ()
    subdomains: bool = False
    but: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Return the rule's id: ten hexadecimal digits of a digest of what it says.

        Exceptions (``but``) do not change it.
        """
        import hashlib  # noqa: PLC0415 - loads OpenSSL: `import canonry` stays light

        content = msgspec.json.encode((*astuple(self)[: _FIELDS - 1], ()))
        return hashlib.blake2b(content, digest_size=5).hexdigest()

    def covers(self, site: str) -> bool:
        """Return True if the rewrite covers a site."""
        if site == self.host:
            return True
        return self.subdomains and site.endswith("." + self.host) and site not in self.but


_FIELDS = len(Rewrite.__struct_fields__)


def to_fields(value: Rewrite, always: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a rewrite, or a rule, as plain data, without the fields that have their default.

    This is how rules are written both in files and in the store; `msgspec.convert` reads it.

    Args:
        value: what to encode.
        always: fields to include even if they have their default.
    """
    defaults = _defaults(type(value))
    return {
        name: msgspec.to_builtins(given)
        for name in value.__struct_fields__
        if (given := getattr(value, name)) != defaults[name] or name in always
    }


@cache
def _defaults(kind: type[Rewrite]) -> dict[str, Any]:
    """Return the default of each field; required fields have one that no value equals."""
    return {field.name: field.default for field in fields(kind)}

"""The result types of `interpret`: what a URL means in its own scheme."""

import re
from typing import NamedTuple

from canonry.canon.syntax.uri import URI


class Server(NamedTuple):
    """The server; ``None`` means absent, and an empty user is a user (RFC 1738 section 3.1)."""

    user: str | None
    password: str | None
    host: str
    port: int | None  # the scheme's default if the URL names none


class Web(NamedTuple):
    """An http, https, ws or wss URL (RFC 9110 section 4.2, RFC 6455 section 3)."""

    server: Server
    path: str
    query: str | None
    words: tuple[str, ...] = ()  # of the search, which "+" joins in the draft of 1993


class Ftp(NamedTuple):
    """A file on an FTP or SFTP server (RFC 1738 section 3.2.2).

    ``directories`` are the decoded names for successive CWD commands. A first name of ``/etc``
    comes from ``%2Fetc`` and starts at the root; ``etc`` starts at the home directory.
    """

    server: Server
    directories: tuple[str, ...]
    name: str
    type: str | None  # "a", "i" or "d"


class GopherPlus(NamedTuple):
    """What a Gopher+ string asks for (RFC 1738 sections 3.4.3 to 3.4.9).

    ``asks`` is ``"view"`` for an item's content, ``"form"`` for an item and the form to fill in,
    ``"item"`` for attributes of an item, ``"directory"`` for those of all items in a directory.
    """

    asks: str
    view: str | None = None  # a content type; None is the default view
    language: str | None = None
    attributes: tuple[str, ...] = ()  # empty: all of them
    values: tuple[str, ...] | None = None  # of a form that is filled in


class Gopher(NamedTuple):
    """An item of a Gopher server (RFC 4266 section 2.1)."""

    server: Server
    type: str
    selector: str
    search: str | None
    plus: str | None  # the Gopher+ string
    words: tuple[str, ...] = ()  # of the search, which "+" joins in the draft of 1993

    @property
    def request(self) -> str:
        """Return what a client sends, without the line break at its end."""
        if self.search is None:
            return self.selector
        return "\t".join((self.selector, self.search, *([self.plus] if self.plus else [])))

    @property
    def plus_request(self) -> GopherPlus | None:
        """Return what the Gopher+ string asks for; None if there is none, or it is no such one."""
        return None if self.plus is None else _plus_request(self.plus)


_ASKS = {"+": "view", "?": "form", "!": "item", "$": "directory"}
_FILLED = re.compile(r"\t1\r\n\+-1\r\n((?:[^\r\n]*\r\n)*?)\.\r\n", re.DOTALL)


def _plus_request(plus: str) -> GopherPlus | None:
    """Read a decoded Gopher+ string."""
    asks, rest = _ASKS.get(plus[:1]), plus[1:]
    if asks == "view":
        head, tab, tail = rest.partition("\t")
        filled = _FILLED.fullmatch(tab + tail)
        if tab and not filled:
            return None
        view, _, language = head.partition(" ")
        values = tuple(filled[1].split("\r\n")[:-1]) if filled else None
        return GopherPlus(asks, view or None, language or None, values=values)
    if asks in {"item", "directory"}:
        return GopherPlus(asks, attributes=tuple(rest.split(" ")) if rest else ())
    return GopherPlus(asks) if asks and not rest else None


class Mailto(NamedTuple):
    """Recipients and initial header fields, decoded (RFC 6068 section 2)."""

    to: tuple[str, ...]
    headers: tuple[tuple[str, str], ...]


class News(NamedTuple):
    """A newsgroup, an article (by message identifier), or ``*`` for all (RFC 5538 section 4)."""

    server: Server | None
    kind: str  # "group", "message" or "all"
    name: str


class Nntp(NamedTuple):
    """A group on one server, or an article in it, by number (RFC 5538 section 3)."""

    server: Server
    group: str
    article: str | None


class Terminal(NamedTuple):
    """An interactive service: telnet, tn3270, rlogin (RFC 4248, RFC 6270)."""

    server: Server


class Wais(NamedTuple):
    """A database, a search in it, or one of its documents (RFC 4156 section 2).

    In the draft of 1993, the document's length in octets stands before its path, which may hold
    slashes; the path of the later documents holds none.
    """

    server: Server
    database: str
    search: str | None
    type: str | None
    path: str | None
    length: int | None = None
    words: tuple[str, ...] = ()  # of the search, which "+" joins in the draft of 1993


class File(NamedTuple):
    """A file on a host; ``""`` is the local host (RFC 8089 section 2).

    No document allows a user or a port. They are None, except where a URL has them all the same.
    """

    host: str
    drive: str | None  # a letter
    path: str  # decoded, without the drive
    user: str | None = None
    password: str | None = None
    port: int | None = None


class Prospero(NamedTuple):
    """An object of the Prospero directory service (RFC 4157 section 2).

    In the draft of 1993, the version follows a ``%00`` in the object's name, and so does each
    attribute after it; with attributes, the version may be empty.
    """

    server: Server
    name: str
    version: str | None
    fields: tuple[tuple[str, str], ...]
    attributes: tuple[str, ...] = ()


class Afs(NamedTuple):
    """A file in a cell of the Andrew File System (the URL draft of 1993)."""

    cell: str
    path: str  # decoded


class Urn(NamedTuple):
    """A name: namespace, namespace-specific string and three components (RFC 8141 section 2)."""

    namespace: str
    name: str
    resolution: str | None
    query: str | None
    fragment: str | None


class Tel(NamedTuple):
    """A telephone number without its visual separators (RFC 3966 section 3)."""

    number: str
    is_global: bool
    parameters: tuple[tuple[str, str | None], ...]


class Data(NamedTuple):
    """Content carried in the URL itself (RFC 2397)."""

    media_type: str
    parameters: tuple[tuple[str, str], ...]
    content: bytes


class Ldap(NamedTuple):
    """A search in an LDAP directory, with the defaults filled in (RFC 4516 section 2).

    The server's host is empty if the URL leaves the choice to the client.
    """

    server: Server
    dn: str
    attributes: tuple[str, ...]
    scope: str
    filter: str
    extensions: tuple[str, ...]


class Script(NamedTuple):
    """The program of a ``javascript:`` URL, decoded."""

    program: str


class Blob(NamedTuple):
    """The origin and the identifier of a ``blob:`` URL (File API section 8)."""

    origin: str
    name: str


Form = (
    Web | Ftp | Gopher | Mailto | News | Nntp | Terminal | Wais | File | Prospero | Afs | Urn | Tel
    | Data | Ldap | Script | Blob | URI
)  # fmt: skip

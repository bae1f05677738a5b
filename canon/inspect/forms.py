"""What a URL says in the terms of its own scheme: a selector, a message, a number, a file."""

from typing import NamedTuple

from canonry.canon.syntax.uri import URI


class Server(NamedTuple):
    """Whom to ask; ``None`` is absent, and an empty user is a user (RFC 1738 section 3.1)."""

    user: str | None
    password: str | None
    host: str
    port: int | None  # the scheme's default where the URL names none


class Web(NamedTuple):
    """An http, https, ws or wss URL (RFC 9110 section 4.2, RFC 6455 section 3)."""

    server: Server
    path: str
    query: str | None


class Ftp(NamedTuple):
    """A file on an FTP or SFTP server (RFC 1738 section 3.2.2).

    ``directories`` are the names to change into, one after the other, decoded: a first one of
    ``/etc`` comes from ``%2Fetc`` and leads from the root, where ``etc`` leads from home.
    """

    server: Server
    directories: tuple[str, ...]
    name: str
    type: str | None  # "a", "i" or "d"


class Gopher(NamedTuple):
    """An item of a Gopher server (RFC 4266 section 2.1)."""

    server: Server
    type: str
    selector: str
    search: str | None
    plus: str | None  # the Gopher+ string


class Mailto(NamedTuple):
    """Addresses to write to and header fields to begin with, decoded (RFC 6068 section 2)."""

    to: tuple[str, ...]
    headers: tuple[tuple[str, str], ...]


class News(NamedTuple):
    """A newsgroup, an article by its message identifier, or ``*`` (RFC 5538 section 4)."""

    server: Server | None
    kind: str  # "group", "message" or "all"
    name: str


class Nntp(NamedTuple):
    """An article of a group by its number on one server (RFC 5538 section 3)."""

    server: Server
    group: str
    article: str | None


class Terminal(NamedTuple):
    """An interactive service: telnet, tn3270, rlogin (RFC 4248, RFC 6270)."""

    server: Server


class Wais(NamedTuple):
    """A database, a search in it or a document of it (RFC 4156 section 2)."""

    server: Server
    database: str
    search: str | None
    type: str | None
    path: str | None


class File(NamedTuple):
    """A file of a host, ``""`` being this one (RFC 8089 section 2)."""

    host: str
    drive: str | None  # a letter
    path: str  # decoded, without the drive


class Prospero(NamedTuple):
    """An object of the Prospero directory service (RFC 4157 section 2).

    The draft of 1993 has the version behind a ``%00`` in the object's name.
    """

    server: Server
    name: str
    version: str | None
    fields: tuple[tuple[str, str], ...]


class Urn(NamedTuple):
    """A name: namespace, specific string and the three components (RFC 8141 section 2)."""

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
    """A search of an LDAP directory, with the defaults filled in (RFC 4516 section 2)."""

    server: Server
    dn: str
    attributes: tuple[str, ...]
    scope: str
    filter: str
    extensions: tuple[str, ...]


class Script(NamedTuple):
    """A ``javascript:`` URL's program, decoded."""

    program: str


class Blob(NamedTuple):
    """A ``blob:`` URL: whose it is and which (File API section 8)."""

    origin: str
    name: str


Form = (
    Web | Ftp | Gopher | Mailto | News | Nntp | Terminal | Wais | File | Prospero | Urn | Tel
    | Data | Ldap | Script | Blob | URI
)  # fmt: skip

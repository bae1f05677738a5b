"""The result types of `interpret`: what a URL means in its own scheme."""

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


class Ftp(NamedTuple):
    """A file on an FTP or SFTP server (RFC 1738 section 3.2.2).

    ``directories`` are the decoded names for successive CWD commands. A first name of ``/etc``
    comes from ``%2Fetc`` and starts at the root; ``etc`` starts at the home directory.
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


class File(NamedTuple):
    """A file on a host; ``""`` is the local host (RFC 8089 section 2)."""

    host: str
    drive: str | None  # a letter
    path: str  # decoded, without the drive


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
    """A search in an LDAP directory, with the defaults filled in (RFC 4516 section 2)."""

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

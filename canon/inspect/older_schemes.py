"""Readers of the schemes of 1993 and of RFC 1738, by both documents and by their successors."""

import re

from canonry.canon.inspect.forms import (
    Afs,
    File,
    Ftp,
    Gopher,
    Mailto,
    News,
    Nntp,
    Prospero,
    Terminal,
    Wais,
    Web,
)
from canonry.canon.inspect.reading import (
    after_scheme,
    broken,
    decode,
    path_start,
    port_of,
    refuse_query,
    server,
    whole_path,
    words,
)
from canonry.canon.syntax.parts import Parts


def web(parts: Parts, text: str) -> Web:
    """Read a URL of the web."""
    return Web(server(parts, text), parts.path or "/", parts.query)


def web_1993(parts: Parts, text: str) -> Web:
    """Read an http URL of 1993: ``+`` joins the words of its search."""
    return web(parts, text)._replace(words=words(parts.query))


_FTP_TYPE = re.compile(r";type=([^;/]*)\Z", re.IGNORECASE)


def ftp(parts: Parts, text: str) -> Ftp:
    """Read a file, perhaps with its transfer type."""
    path = whole_path(parts)
    kind = _FTP_TYPE.search(path)
    if kind is None:
        return ftp_1993(parts, text)
    if kind[1].lower() not in {"a", "i", "d"}:
        raise broken(text, path_start(parts) + kind.start(1))
    plain = parts._replace(path=path[: kind.start()], query=None)
    return ftp_1993(plain, text)._replace(type=kind[1].lower())


def ftp_1993(parts: Parts, text: str) -> Ftp:
    """Read a file of 1993; ``;type=`` is a part of its name."""
    *directories, name = whole_path(parts).removeprefix("/").split("/")
    return Ftp(server(parts, text), tuple(map(decode, directories)), decode(name), None)


def gopher(parts: Parts, text: str) -> Gopher:
    """Read an item, with a search and a Gopher+ string after tabs."""
    path = whole_path(parts).removeprefix("/")
    item, *more = map(decode, path.split("%09", 2))
    search, plus = [*more, None, None][:2]
    return Gopher(server(parts, text), item[:1] or "1", item[1:], search, plus)


def gopher_1993(parts: Parts, text: str) -> Gopher:
    """Read an item of 1993, with a search after a question mark."""
    item = decode(parts.path.removeprefix("/"))
    search = None if parts.query is None else decode(parts.query)
    found = Gopher(server(parts, text), item[:1] or "1", item[1:], search, None)
    return found._replace(words=words(parts.query))


def mailto_1738(parts: Parts, text: str) -> Mailto:
    """Read one address; RFC 1738 knows no header fields."""
    address = after_scheme(parts, text)
    if not address:
        raise broken(text, len(text))
    return Mailto((decode(address),), ())


def news(parts: Parts, text: str) -> News:
    """Read a group, a message or ``*``, perhaps on a server."""
    if parts.host is None:
        return news_1738(parts, text)
    at = server(parts, text)
    name = decode(whole_path(parts)).removeprefix("/")
    if name in {"", "*"}:
        return News(at, "all", "*")
    return News(at, "message" if "@" in name else "group", name)


def news_1738(parts: Parts, text: str) -> News:
    """Read a group, a message or ``*``; there is no server."""
    name = decode(after_scheme(parts, text))
    if name == "*":
        return News(None, "all", "*")
    if not name:
        raise broken(text, len(text))
    return News(None, "message" if "@" in name else "group", name)


_ARTICLE = re.compile("[0-9]+")  # in ASCII


def nntp(parts: Parts, text: str) -> Nntp:
    """Read a group on a server, and the number of an article."""
    at = server(parts, text)
    group, slash, article = parts.path.removeprefix("/").partition("/")
    if not group or (slash and not _ARTICLE.fullmatch(article)):
        raise broken(text, path_start(parts) + len(parts.path) - len(article))
    refuse_query(parts, text)
    return Nntp(at, decode(group), article or None)


def terminal(parts: Parts, text: str) -> Terminal:
    """Read an interactive service; nothing but a slash may follow the server."""
    if parts.path not in {"", "/"}:
        raise broken(text, path_start(parts))
    refuse_query(parts, text)
    return Terminal(server(parts, text))


def terminal_1993(parts: Parts, text: str) -> Terminal:
    """Read an interactive service by the draft of 1993, which names no default ports."""
    at = terminal(parts, text).server
    return Terminal(at._replace(port=port_of(parts, text)))


def wais_1738(parts: Parts, text: str) -> Wais:
    """Read a database, a search in it, or a document, whose path its server alone understands."""
    database, *document = parts.path.removeprefix("/").split("/", 2)
    if not database or len(document) == 1:
        raise broken(text, path_start(parts))
    kind, path = map(decode, document) if document else (None, None)
    search = None if parts.query is None else decode(parts.query)
    return Wais(server(parts, text), decode(database), search, kind, path)


_LENGTH = re.compile("[0-9]{1,18}")  # of a document, in octets


def wais(parts: Parts, text: str) -> Wais:
    """Do what `wais_1738` does, but read a number before the path as its length, as in 1993."""
    found = wais_1738(parts, text)
    first, slash, path = parts.path.removeprefix("/").split("/", 2)[-1].partition("/")
    if found.path is None or not slash or not _LENGTH.fullmatch(decode(first)):
        return found
    return found._replace(path=decode(path), length=int(decode(first)))


def wais_1993(parts: Parts, text: str) -> Wais:
    """Read a wais URL of 1993: ``+`` joins the words of its search."""
    return wais(parts, text)._replace(words=words(parts.query))


_DRIVE = re.compile(r"/?([A-Za-z])[:|](/.*|\Z)", re.DOTALL)


def file(parts: Parts, text: str) -> File:
    """Read a file: a question mark is a part of its name."""
    host = decode(parts.host or "").lower()
    path = decode(whole_path(parts))
    user, colon, password = (parts.userinfo or "").partition(":")
    drive = _DRIVE.match(decode(parts.path))
    return File(
        "" if host == "localhost" else host,
        drive and drive[1],
        path[drive.start(2) :] if drive else path,
        None if parts.userinfo is None else decode(user),
        decode(password) if colon else None,
        port_of(parts, text),
    )


def prospero_1738(parts: Parts, text: str) -> Prospero:
    """Read an object and its fields: a question mark is a part of either."""
    at = server(parts, text)
    path = whole_path(parts)
    name, *given = path.removeprefix("/").split(";")
    fields = [field.partition("=") for field in given]
    if not name or not all(sign for _, sign, _ in fields):
        raise broken(text, path_start(parts))
    pairs = tuple((decode(key), decode(value)) for key, _, value in fields)
    return Prospero(at, decode(name), None, pairs)


def prospero(parts: Parts, text: str) -> Prospero:
    """Do what `prospero_1738` does, but ``%00`` marks version and attributes, as in 1993."""
    found = prospero_1738(parts, text)
    return _with_version(found, whole_path(parts).removeprefix("/").partition(";")[0])


def prospero_1993(parts: Parts, text: str) -> Prospero:
    """Read an object of 1993, which has no fields: a semicolon is a part of its name."""
    name = whole_path(parts).removeprefix("/")
    if not name:
        raise broken(text, path_start(parts))
    return _with_version(Prospero(server(parts, text), "", None, ()), name)


def _with_version(found: Prospero, name: str) -> Prospero:
    """Return an object with the name, the version and the attributes that ``%00`` separates."""
    name, *after = map(decode, name.split("%00"))
    version = after[0] if after else None
    return found._replace(name=name, version=version, attributes=tuple(after[1:]))


def afs(parts: Parts, text: str) -> Afs:
    """Read a file in a cell."""
    if parts.userinfo is not None or parts.port is not None:
        raise broken(text, len(parts.scheme or "") + 3)
    return Afs(server(parts, text).host, decode(whole_path(parts)))

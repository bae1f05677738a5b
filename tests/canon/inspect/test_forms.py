"""`interpret`: every scheme of the specifications, by its own syntax."""

import re
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import example, given
from hypothesis.strategies import none, sampled_from
from support.strategies import anything, forms, marked, raw, share, sound
from support.tables import each

import canonry
from canonry.canon.inspect.forms import (
    Afs,
    Blob,
    Data,
    File,
    Ftp,
    Gopher,
    GopherPlus,
    Ldap,
    Mailto,
    News,
    Nntp,
    Prospero,
    Script,
    Server,
    Tel,
    Terminal,
    Urn,
    Wais,
    Web,
)
from canonry.canon.inspect.interpret import DOCUMENTS, FORMS
from canonry.canon.references.rfc3986 import remove_dot_segments
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.percent import decode_unreserved
from canonry.canon.syntax.schemes import SCHEMES


def at(host: str, port: int, user: str | None = None, password: str | None = None) -> Server:
    return Server(user, password, host, port)


@each(
    ("url", "form"),
    [
        # RFC 1738 section 3.2.2: the commands that a client sends
        (
            "ftp://myname@host.dom/%2Fetc/motd",
            Ftp(at("host.dom", 21, "myname"), ("/etc",), "motd", None),
        ),
        (
            "ftp://myname@host.dom/etc/motd",
            Ftp(at("host.dom", 21, "myname"), ("etc",), "motd", None),
        ),
        (
            "ftp://myname@host.dom//etc/motd",
            Ftp(at("host.dom", 21, "myname"), ("", "etc"), "motd", None),
        ),
        ("ftp://h/a/b;type=D", Ftp(at("h", 21), ("a",), "b", "d")),
        # Section 3.1: no user, an empty one, an empty password
        ("ftp://h/", Ftp(at("h", 21), (), "", None)),
        ("ftp://@h/", Ftp(at("h", 21, ""), (), "", None)),
        ("ftp://foo:@h/", Ftp(at("h", 21, "foo", ""), (), "", None)),
        ("sftp://u@h:2022/~/x", Ftp(at("h", 2022, "u"), ("~",), "x", None)),
        # Section 3.3
        ("HTTP://H", Web(at("h", 80), "/", None)),
        ("https://h:8443/a?b", Web(at("h", 8443), "/a", "b")),
        ("wss://h/c", Web(at("h", 443), "/c", None)),
        # Section 3.4: five shapes of a Gopher URL
        ("gopher://h", Gopher(at("h", 70), "1", "", None, None)),
        ("gopher://h/", Gopher(at("h", 70), "1", "", None, None)),
        ("gopher://h/0a/b", Gopher(at("h", 70), "0", "a/b", None, None)),
        ("gopher://h/7a%09search", Gopher(at("h", 70), "7", "a", "search", None)),
        ("gopher://h/7a%09search%09%2B", Gopher(at("h", 70), "7", "a", "search", "+")),
        ("gopher://h/1a%09%09$", Gopher(at("h", 70), "1", "a", "", "$")),
        ("gopher://h/1a?b", Gopher(at("h", 70), "1", "a?b", None, None)),
        ("gopher://h/1/../a/./b", Gopher(at("h", 70), "1", "/../a/./b", None, None)),
        # RFC 6068
        ("mailto:chris@example.com", Mailto(("chris@example.com",), ())),
        (
            "mailto:a@x.example,%22not%40me%22@y.example?Subject=Hi%20you&cc=b@x.example",
            Mailto(
                ("a@x.example", '"not@me"@y.example'),
                (("subject", "Hi you"), ("cc", "b@x.example")),
            ),
        ),
        ("mailto:?to=a@x.example", Mailto((), (("to", "a@x.example"),))),
        ("mailto://a@x.example/b?c", Mailto(("//a@x.example/b",), (("c", ""),))),
        # RFC 1738 section 3.6 and RFC 5538
        ("news:comp.infosystems.gopher", News(None, "group", "comp.infosystems.gopher")),
        ("news:5$q?x@h.example", News(None, "message", "5$q?x@h.example")),
        ("news:*", News(None, "all", "*")),
        ("news://n.example/a.b", News(at("n.example", 119), "group", "a.b")),
        ("news://n.example/", News(at("n.example", 119), "all", "*")),
        ("nntp://n.example/a.b/42", Nntp(at("n.example", 119), "a.b", "42")),
        ("nntp://n.example/a.b", Nntp(at("n.example", 119), "a.b", None)),
        # Section 3.8: the final slash is optional
        ("telnet://u:p@h", Terminal(at("h", 23, "u", "p"))),
        ("telnet://u:p@h/", Terminal(at("h", 23, "u", "p"))),
        ("tn3270://h/", Terminal(at("h", 23))),
        ("rlogin://u@h/", Terminal(Server("u", None, "h", None))),
        ("rlogin://h:0513", Terminal(at("h", 513))),
        # Section 3.9: a database, a search, a document
        ("wais://h/db", Wais(at("h", 210), "db", None, None, None)),
        ("wais://h:2210/db?q", Wais(at("h", 2210), "db", "q", None, None)),
        ("wais://h/db/TEXT/a%2Fb/c", Wais(at("h", 210), "db", None, "TEXT", "a/b/c")),
        # The draft of 1993: the length of the document stands before its path
        ("wais://h/db/TEXT/1024/a/b%2Fc", Wais(at("h", 210), "db", None, "TEXT", "a/b/c", 1024)),
        ("wais://h/db/TEXT/%31/a", Wais(at("h", 210), "db", None, "TEXT", "a", 1)),
        ("wais://h/db/TEXT/1024/", Wais(at("h", 210), "db", None, "TEXT", "", 1024)),
        ("wais://h/db?a?b/c", Wais(at("h", 210), "db", "a?b/c", None, None)),
        ("wais://h/db/T/w?s", Wais(at("h", 210), "db", "s", "T", "w")),
        ("wais://h/db/T/a/../b", Wais(at("h", 210), "db", None, "T", "a/../b")),
        ("wais://h/db/TEXT/1024", Wais(at("h", 210), "db", None, "TEXT", "1024")),
        ("wais://h/d//" + "1" * 5000 + "/a", Wais(at("h", 210), "d", None, "", "1" * 5000 + "/a")),
        # Section 3.10, RFC 8089
        ("file://vms.host.edu/disk$user/x.txt", File("vms.host.edu", None, "/disk$user/x.txt")),
        ("file://localhost/etc/motd", File("", None, "/etc/motd")),
        ("file:///etc/motd", File("", None, "/etc/motd")),
        ("file:/etc/motd", File("", None, "/etc/motd")),
        ("file:///C|/a%20b", File("", "C", "/a b")),
        ("file:c:/x", File("", "c", "/x")),
        ("file:///a?b;c=d?e", File("", None, "/a?b;c=d?e")),
        ("file://h?x", File("h", None, "?x")),
        ("file://u:p@localhost:080/a", File("", None, "/a", "u", "p", 80)),
        ("file://@/a", File("", None, "/a", "")),
        # Section 3.11, and the version of the draft of 1993
        ("prospero://h/a/b", Prospero(at("h", 1525), "a/b", None, ())),
        (
            "prospero://h:1/a%00v;f=1;g=%3B",
            Prospero(at("h", 1), "a", "v", (("f", "1"), ("g", ";"))),
        ),
        ("prospero://h/a?b/c;d?=e?f", Prospero(at("h", 1525), "a?b/c", None, (("d?", "e?f"),))),
        ("prospero://h//a/../b", Prospero(at("h", 1525), "/a/../b", None, ())),
        ("prospero://h/a%0012", Prospero(at("h", 1525), "a", "12", ())),
        ("prospero://h/a%0012%00b%00c1", Prospero(at("h", 1525), "a", "12", (), ("b", "c1"))),
        ("prospero://h/a%00%00b;f=1", Prospero(at("h", 1525), "a", "", (("f", "1"),), ("b",))),
        # The draft of 1993: a cell and a path
        ("afs://Cell.example/u/a%20b?c", Afs("cell.example", "/u/a b?c")),
        # RFC 8141
        ("urn:ISBN:0451450523", Urn("isbn", "0451450523", None, None, None)),
        ("urn:x1:y?+r?=q#f", Urn("x1", "y", "r", "q", "f")),
        ("urn:x1:y?=q?x", Urn("x1", "y", None, "q?x", None)),
        ("urn:x1:y?+r?x", Urn("x1", "y", "r?x", None, None)),
        # RFC 3966
        ("tel:+1-(816)-555.1212", Tel("+18165551212", is_global=True, parameters=())),
        (
            "tel:7042;phone-context=x",
            Tel("7042", parameters=(("phone-context", "x"),), is_global=False),
        ),
        ("tel:+1;isub;EXT=9", Tel("+1", is_global=True, parameters=(("isub", None), ("ext", "9")))),
        # RFC 2397
        ("data:,A%20b", Data("text/plain", (("charset", "US-ASCII"),), b"A b")),
        ("data:image/GIF;base64,QUI=", Data("image/gif", (), b"AB")),
        ("data:text/plain;charset=utf-8;base64,QQ", Data(
            "text/plain", (("charset", "utf-8"),), b"A"
        )),
        ("data:text/x,a?b", Data("text/x", (), b"a?b")),
        # RFC 4516
        ("ldap://h", Ldap(at("h", 389), "", (), "base", "(objectClass=*)", ())),
        (
            "ldap://h/o=X%20Y,c=US?postalAddress,cn?SUB?(cn=A)?!b",
            Ldap(
                at("h", 389), "o=X Y,c=US", ("postalAddress", "cn"), "sub", "(cn=A)", ("!b",)
            ),
        ),
        ("ldap:///o=a", Ldap(at("", 389), "o=a", (), "base", "(objectClass=*)", ())),
        ("ldap://h/?a?one?(b=?)?c?d", Ldap(at("h", 389), "", ("a",), "one", "(b=", (")?c?d",))),
        ("ldaps://h/", Ldap(at("h", 636), "", (), "base", "(objectClass=*)", ())),
        ("javascript:a(%22b%22)//c?d#e", Script('a("b")//c?d#e')),
        ("javascript://A:080/B%0Ac()", Script("//A:080/B\nc()")),
        ("blob:https://a.example/1-2", Blob("https://a.example", "1-2")),
        ("blob:https://a.example/1?x/y", Blob("https://a.example", "1?x/y")),
        # Unknown schemes
        ("x-Foo:Bar%41", canonry.URI("x-Foo", None, "Bar%41", None, None)),
    ],
)  # fmt: skip
def test_urls_mean_what_their_scheme_says(url: str, form: object) -> None:
    found = canonry.interpret(url)
    assert found == form
    assert type(found) is type(form)


@each(
    ("url", "reason", "position"),
    [
        ("", "EMPTY", 0),
        ("a/b", "RELATIVE", 0),
        ("ftp:/a", "NO_HOST", 4),
        ("http://", "NO_HOST", 5),
        ("ftp://h:123456/", "PORT", 8),
        ("ftp://h/a;type=x", "FORM", 15),
        ("telnet://h/a", "FORM", 10),
        ("nntp://h/", "FORM", 9),
        ("nntp://h/g/x", "FORM", 11),
        ("nntp://h/g/\u0661\u0662", "FORM", 11),
        ("nntp://h/g/\u00b2", "FORM", 11),
        ("nntp://h/g?x", "FORM", 10),
        ("nntp://h/g/1?x", "FORM", 12),
        ("telnet://h/?x", "FORM", 11),
        ("telnet://h?", "FORM", 10),
        ("tel:+1?x", "FORM", 6),
        ("http://h:65536/", "PORT", 9),
        ("file://h:65536/", "PORT", 9),
        ("ldap:o=a", "NO_HOST", 5),
        ("news:", "FORM", 5),
        ("wais://h/", "FORM", 8),
        ("wais://h/db/TEXT", "FORM", 8),
        ("prospero://h/a;f", "FORM", 12),
        ("afs:/a", "NO_HOST", 4),
        ("afs://u@cell/a", "FORM", 6),
        ("afs://cell:1/a", "FORM", 6),
        ("urn:a", "FORM", 4),
        ("urn:ab:", "FORM", 4),
        ("urn:ab:c?x", "FORM", 4),
        ("urn:ab:c?", "FORM", 8),
        ("tel:x", "FORM", 4),
        ("tel:123", "FORM", 4),
        ("data:x", "FORM", 6),
        ("data:;base64,%", "FORM", 13),
        ("ldap://h/?a?deep", "FORM", 9),
    ],
)
def test_broken_urls_are_refused_with_a_position(url: str, reason: str, position: int) -> None:
    with pytest.raises(canonry.InvalidURL) as caught:
        canonry.interpret(url)
    assert (caught.value.reason, caught.value.position) == (canonry.Reason[reason], position)


@given(anything | raw)
def test_interpreting_raises_only_invalid_url(url: str | bytes) -> None:
    try:
        canonry.interpret(url)
    except canonry.InvalidURL as error:
        assert 0 <= error.position <= len(error.text)  # noqa: PT017 - the only way it may fail


def test_every_scheme_of_the_table_has_a_form() -> None:
    assert FORMS.keys() == SCHEMES.keys()


def is_read(url: str) -> bool:
    """Return True if a URL can be interpreted, in the scheme that it names."""
    try:
        return not isinstance(canonry.interpret(url), canonry.URI)
    except canonry.InvalidURL:
        return False


def test_enough_urls_are_read() -> None:
    assert share(marked, is_read) > 0.4
    assert share(forms, is_read) > 0.3


@given(url=marked, document=none() | sampled_from(list(DOCUMENTS)))
@example(url="file:///a?w717W", document=None)
@example(url="prospero://h/a?w717W", document=None)
@example(url="mailto://w717W/a", document=None)
def test_nothing_is_dropped(url: str, document: str | None) -> None:
    """What stands in a URL stands in its interpretation, or the URL is refused."""
    try:
        said = repr(canonry.interpret(url, document=document))
    except canonry.InvalidURL:
        return
    for word in re.findall("7[0-9]7", url.replace("%57", "W")):
        assert word in said


@given(url=marked | forms | sound)
@example(url="gopher://h/1/../0/x")
@example(url="wais://h/d/T/../x")
@example(url="prospero://h/a/./b")
@example(url="javascript:/./.test(1)")
@example(url="javascript://%0AAlert(1)")
@example(url="news://h/..")
@example(url="ldap://h/o=a/../b")
@example(url="file://localhost/C|?Subject=A")
def test_lossless_rules_keep_the_meaning_in_the_scheme(url: str) -> None:
    """Whatever the scheme, a canonical form says what the URL said; hosts have tests of their own.

    Dot segments are steps where paths are hierarchies, so there they are taken before. Everywhere
    else they are data.
    """
    try:
        before = canonry.interpret(with_steps_taken(url))
        identity = canonry.canonicalize(url, policy="rfc3986")
    except canonry.InvalidURL:
        return
    assert saying(canonry.interpret(identity)) == saying(before)


def with_steps_taken(url: str) -> str:
    """Return a URL without dot segments, if its scheme's paths are hierarchies."""
    parts = Parts.of(url)
    if (parts.scheme or "").lower() not in {
        "http", "https", "ws", "wss", "ftp", "sftp", "file", "afs",
    } or not parts.path.startswith("/"):  # fmt: skip
        return url
    path = remove_dot_segments(decode_unreserved(parts.path))
    host = "" if parts.host is None and path.startswith("//") else parts.host
    return str(parts._replace(host=host, path=path))


def saying(form: canonry.Form) -> object:  # noqa: C901, PLR0911 - a row for each form
    """Return what a form says, with all that has no letter case or order in one of them."""
    match form:
        case Mailto():
            return [address.rpartition("@")[0] for address in form.to], form.headers
        case Tel():
            separators = str.maketrans("", "", "-()")
            kept = {n: (v or "").lower().translate(separators) for n, v in form.parameters}
            return form.number, sorted(kept)
        case Data():
            return form.media_type, str(form.parameters).lower(), form.content
        case Urn():
            return form.namespace, unquote_to_bytes(form.name)
        case canonry.URI():
            return None
        case File():
            return form._replace(host="")
        case Afs():
            return form.path
        case Blob():
            return tuple(map(unquote_to_bytes, form))
        case Web():
            segments = [unquote_to_bytes(segment) for segment in form.path.split("/")]
            query = None if form.query is None else unquote_to_bytes(form.query)
            return form.server._replace(host=""), segments, query
        case Script() | News(server=None):
            return form
        case _:
            return form._replace(server=form.server._replace(host=""))


@each(
    ("url", "request_", "asked"),
    [
        # RFC 1738 sections 3.4.1 and 3.4.2
        ("gopher://h", "", None),
        ("gopher://h/0a/b", "a/b", None),
        ("gopher://h/7a%09b%20c", "a\tb c", None),
        # Sections 3.4.3 to 3.4.5
        ("gopher://h/0a%09%09+", "a\t\t+", GopherPlus("view")),
        ("gopher://h/0a%09b%09?", "a\tb\t?", GopherPlus("form")),
        # Sections 3.4.6 and 3.4.7: attributes of an item, or of all items in a directory
        ("gopher://h/1a%09%09!", "a\t\t!", GopherPlus("item")),
        ("gopher://h/1a%09%09$", "a\t\t$", GopherPlus("directory")),
        (
            "gopher://h/1a%09%09!+ABSTRACT%20+ADMIN",
            "a\t\t!+ABSTRACT +ADMIN",
            GopherPlus("item", attributes=("+ABSTRACT", "+ADMIN")),
        ),
        (
            "gopher://h/1a%09%09$+VIEWS",
            "a\t\t$+VIEWS",
            GopherPlus("directory", attributes=("+VIEWS",)),
        ),
        # Section 3.4.8: a view, in a language
        (
            "gopher://h/0a%09%09+application/postscript%20Es_ES",
            "a\t\t+application/postscript Es_ES",
            GopherPlus("view", "application/postscript", "Es_ES"),
        ),
        # Section 3.4.9: a form that is filled in
        (
            "gopher://h/0a%09%09+%091%0D%0A+-1%0D%0Ax%20y%0D%0A%0D%0Az%0D%0A.%0D%0A",
            "a\t\t+\t1\r\n+-1\r\nx y\r\n\r\nz\r\n.\r\n",
            GopherPlus("view", values=("x y", "", "z")),
        ),
        ("gopher://h/0a%09%09+%091%0D%0A+-1%0D%0A.%0D%0A", None, GopherPlus("view", values=())),
        # What is none of them
        ("gopher://h/0a%09%09", "a\t", None),
        ("gopher://h/0a%09%09x", None, None),
        ("gopher://h/0a%09%09?x", None, None),
        ("gopher://h/0a%09%09+%092", None, None),
        ("gopher://h/0a%09%09+%091%0D%0A+-1%0D%0Ax", None, None),
    ],
)
def test_gopher_plus_strings_are_read_apart(
    url: str, request_: str | None, asked: GopherPlus | None
) -> None:
    form = canonry.interpret(url)
    assert isinstance(form, Gopher)
    assert request_ is None or form.request == request_
    assert form.plus_request == asked

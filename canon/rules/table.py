"""THE table of rules: what runs, what `explain` prints, what the rules page shows.

A step is a total function from parts to parts. It returns the same object if it has nothing to do.
The steps are in the order in which they run. Those below `Rung.PRACTICE` always run.

A rule that has changed keeps its old row, ``until`` the edition in which the new row begins.
A policy names its edition, so an old version of a policy goes on using the old functions.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from canonry.canon.rules import archives, by_scheme, lossless, practice
from canonry.canon.rules.rule import Parameters, Rule, Rung
from canonry.canon.syntax.parts import Parts


def unchanged(parts: Parts) -> Parts:
    """Return the parts unchanged: the ``apply`` of a row whose lists are not bound yet."""
    return parts


# The documents whose ladder a policy can follow (its ``dialect``). A few lossless rows are only for
# some of them, where the draft of 2003 differs (docs/decisions/0028-the-ladder-of-2003.md).
DIALECTS = ("rfc3986", "whatwg", "rfc2396bis-01")
_LATER = frozenset({"rfc3986", "whatwg"})
_2003 = frozenset({"rfc2396bis-01"})

# The edition of the rules and lists as they are now. 0 is what they were before the first release.
EDITION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Rule):
    """A row of the table: the rule, and ``apply``, the function that implements it.

    A rule that reads lists has ``bind`` instead: a function from the lists to its ``apply``.
    It runs under policies of its ``dialects`` only, and of the editions from ``since`` on, up to
    the one before ``until``.
    """

    dialects: frozenset[str] = frozenset(DIALECTS)
    since: int = 0
    until: int | None = None
    apply: Callable[[Parts], Parts] = unchanged
    bind: Callable[[Parameters], Callable[[Parts], Parts]] | None = None

    def bound(self, lists: Parameters) -> "Step":
        """Return the step with its ``apply``, made from these lists if it reads any."""
        return self if self.bind is None else replace(self, apply=self.bind(lists))


STEPS: tuple[Step, ...] = (
    Step(
        name="encode-disallowed",
        why="A character that is not allowed there is percent-encoded, and so is a lone '%'.",
        before="http://example.com/a|b?100%",
        after="http://example.com/a%7Cb?100%25",
        cites="RFC 3986 section 2.1",
        rung=Rung.REPAIR,
        lossless=True,
        apply=lossless.encode_disallowed,
    ),
    Step(
        name="percent-case",
        why="The hexadecimal digits of an escape are case-insensitive.",
        before="http://example.com/%c3%a9",
        after="http://example.com/%C3%A9",
        cites="RFC 3986 section 6.2.2.1",
        rung=Rung.SYNTAX,
        lossless=True,
        apply=lossless.upper_hex,
    ),
    Step(
        name="percent-unreserved",
        why="An unreserved character and its escape mean the same.",
        before="http://example.com/%7Ebob",
        after="http://example.com/~bob",
        cites="RFC 3986 section 6.2.2.2",
        rung=Rung.SYNTAX,
        lossless=True,
        dialects=_LATER,
        apply=lossless.decode_unreserved,
    ),
    Step(
        name="percent-letters",
        why="A letter, digit, '_' or '~' and its escape mean the same; other escapes stay.",
        before="http://example.com/%7Eb%6Fb%2Dx/%2E%2E/a",
        after="http://example.com/~bob%2Dx/%2E%2E/a",
        cites="draft-fielding-uri-rfc2396bis-01 section 6.2.2.2",
        rung=Rung.SYNTAX,
        lossless=True,
        dialects=_2003,
        apply=lossless.decode_letters,
    ),
    Step(
        name="scheme-case",
        why="Schemes are case-insensitive.",
        before="HTTP://example.com/",
        after="http://example.com/",
        cites="RFC 3986 section 6.2.2.1",
        rung=Rung.SYNTAX,
        lossless=True,
        apply=lossless.lower_scheme,
    ),
    Step(
        name="host-case",
        why="Hosts are case-insensitive.",
        before="http://Example.COM/",
        after="http://example.com/",
        cites="RFC 3986 section 6.2.2.1",
        rung=Rung.SYNTAX,
        lossless=True,
        apply=lossless.lower_host,
    ),
    Step(
        name="dot-segments",
        why="'.' and '..' are steps in the hierarchy, not names.",
        before="http://example.com/a/./b/../c",
        after="http://example.com/a/c",
        cites="RFC 3986 section 6.2.2.3",
        rung=Rung.SYNTAX,
        lossless=True,
        dialects=_LATER,
        apply=lossless.remove_dots,
    ),
    Step(
        name="inner-dot-segments",
        why="'.' and '..' are steps in the hierarchy; a '..' that leads above the root stays.",
        before="http://example.com/a/./b/../../../c",
        after="http://example.com/../c",
        cites="draft-fielding-uri-rfc2396bis-01 section 6.2.2.3",
        rung=Rung.SYNTAX,
        lossless=True,
        dialects=_2003,
        apply=lossless.remove_inner_dots,
    ),
    Step(
        name="idna-host",
        why="An internationalized domain name has one ASCII form, which DNS uses.",
        before="http://b%C3%BCcher.example/",
        after="http://xn--bcher-kva.example/",
        cites="RFC 3986 section 3.2.2",
        rung=Rung.SCHEME,
        lossless=True,
        dialects=_LATER,
        apply=lossless.idna_host,
    ),
    Step(
        name="ipv6-form",
        why="An IPv6 address has one recommended spelling.",
        before="http://[2001:db8:0:0:0:0:0:1]/",
        after="http://[2001:db8::1]/",
        cites="RFC 5952 section 4",
        rung=Rung.SCHEME,
        lossless=True,
        dialects=_LATER,
        apply=lossless.compress_ipv6,
    ),
    Step(
        name="empty-port",
        why="A colon without a port means nothing.",
        before="http://example.com:/",
        after="http://example.com/",
        cites="RFC 3986 section 6.2.3",
        rung=Rung.SCHEME,
        lossless=True,
        apply=lossless.drop_empty_port,
    ),
    Step(
        name="port-zeros",
        why="A port is a number; leading zeros do not change it.",
        before="http://example.com:08080/",
        after="http://example.com:8080/",
        cites="RFC 3986 section 3.2.3",
        rung=Rung.SCHEME,
        lossless=True,
        dialects=_LATER,
        apply=lossless.strip_port_zeros,
    ),
    Step(
        name="default-port",
        why="The scheme's default port need not be written.",
        before="http://example.com:80/",
        after="http://example.com/",
        cites="RFC 3986 section 6.2.3",
        rung=Rung.SCHEME,
        lossless=True,
        apply=lossless.drop_default_port,
    ),
    Step(
        name="empty-path",
        why="After an authority, the empty path is the root.",
        before="http://example.com?q",
        after="http://example.com/?q",
        cites="RFC 3986 section 6.2.3",
        rung=Rung.SCHEME,
        lossless=True,
        dialects=_LATER,
        apply=lossless.root_path,
    ),
    Step(
        name="mailto-domain",
        why="Domains and names of header fields are case-insensitive; local parts are not.",
        before="mailto:Joe@Example.COM?Subject=Hi",
        after="mailto:Joe@example.com?subject=Hi",
        cites="RFC 6068 section 2",
        rung=Rung.SCHEME,
        lossless=True,
        apply=by_scheme.fold_mailto,
    ),
    Step(
        name="urn-equivalence",
        why="Namespaces are case-insensitive; r-, q- and f-components do not count.",
        before="urn:ISBN:0451450523?+a?=b#c",
        after="urn:isbn:0451450523",
        cites="RFC 8141 section 3",
        rung=Rung.SCHEME,
        lossless=True,
        apply=by_scheme.fold_urn,
    ),
    Step(
        name="tel-separators",
        why="Visual separators mean nothing; parameters are unordered and case-insensitive.",
        before="tel:+1-(816)-555.1212;EXT=9",
        after="tel:+18165551212;ext=9",
        cites="RFC 3966 section 4",
        rung=Rung.SCHEME,
        lossless=True,
        apply=by_scheme.strip_phone,
    ),
    Step(
        name="file-host",
        why="The local host can be empty, 'localhost' or absent; 'C|' is an old spelling of 'C:'.",
        before="file://localhost/C|/a",
        after="file:///C:/a",
        cites="RFC 8089 section 2",
        rung=Rung.SCHEME,
        lossless=True,
        apply=by_scheme.empty_local_host,
    ),
    Step(
        name="ftp-type",
        why="The transfer type is case-insensitive.",
        before="ftp://ftp.example.com/a;type=A",
        after="ftp://ftp.example.com/a;type=a",
        cites="RFC 1738 section 3.2.2",
        rung=Rung.SCHEME,
        lossless=True,
        apply=by_scheme.lower_transfer_type,
    ),
    Step(
        name="gopher-type",
        why="A Gopher URL without type and selector is a menu, which is type 1.",
        before="gopher://gopher.example.com/",
        after="gopher://gopher.example.com/1",
        cites="RFC 4266 section 2.1",
        rung=Rung.SCHEME,
        lossless=True,
        apply=by_scheme.add_gopher_type,
    ),
    Step(
        name="data-type",
        why="Media types are case-insensitive; the default is text/plain in US-ASCII.",
        before="data:TEXT/Plain;charset=US-ASCII,a",
        after="data:,a",
        cites="RFC 2397 section 2",
        rung=Rung.SCHEME,
        lossless=True,
        apply=by_scheme.shorten_media_type,
    ),
    Step(
        name="ldap-tail",
        why="Trailing question marks mean the defaults.",
        before="ldap://ldap.example.com/dc=a??sub??",
        after="ldap://ldap.example.com/dc=a??sub",
        cites="RFC 4516 section 2",
        rung=Rung.SCHEME,
        lossless=True,
        apply=by_scheme.strip_ldap_tail,
    ),
    Step(
        name="userinfo",
        why="User name and password say who sends a request, not for what.",
        before="http://user:pw@example.com/",
        after="http://example.com/",
        cites="docs/decisions/0007-archive-keys.md",
        rung=Rung.PRACTICE,
        lossless=False,
        apply=practice.drop_userinfo,
    ),
    Step(
        name="scheme-fold",
        why="Most sites serve the same pages over http and https.",
        before="https://example.com/a",
        after="http://example.com/a",
        cites="docs/decisions/0007-archive-keys.md",
        rung=Rung.PRACTICE,
        lossless=False,
        apply=practice.fold_scheme,
    ),
    Step(
        name="host-dot",
        why="A trailing dot only marks a domain name as complete.",
        before="http://example.com./",
        after="http://example.com/",
        cites="docs/decisions/0007-archive-keys.md",
        rung=Rung.PRACTICE,
        lossless=False,
        apply=practice.drop_host_dot,
    ),
    Step(
        name="www",
        why="Most sites serve the same pages with and without the label 'www'.",
        before="http://www2.example.com/",
        after="http://example.com/",
        cites="docs/decisions/0007-archive-keys.md",
        rung=Rung.PRACTICE,
        lossless=False,
        until=1,
        apply=practice.drop_first_www,
    ),
    Step(
        name="www",
        why="Most sites serve the same pages with and without the label 'www'.",
        before="http://www2.example.com/",
        after="http://example.com/",
        cites="docs/decisions/0007-archive-keys.md",
        rung=Rung.PRACTICE,
        lossless=False,
        since=1,
        apply=practice.drop_www,
    ),
    Step(
        name="decode-escapes",
        why="Indexes of web archives decode every escape, also those of reserved characters.",
        before="http://example.com/a%2Fb%252Fc?d=%26e",
        after="http://example.com/a/b/c?d=&e",
        cites="docs/decisions/0007-archive-keys.md",
        rung=Rung.PRACTICE,
        lossless=False,
        apply=archives.decode_escapes,
    ),
    Step(
        name="letter-case",
        why="Some servers ignore letter case in paths and queries.",
        before="http://example.com/Index.HTML?Q=A",
        after="http://example.com/index.html?q=a",
        cites="docs/decisions/0007-archive-keys.md",
        rung=Rung.PRACTICE,
        lossless=False,
        apply=practice.lower_letters,
    ),
    Step(
        name="all-slashes",
        why="Indexes of web archives fold all slashes, also those of a URL inside a path.",
        before="http://example.com/a/http://b",
        after="http://example.com/a/http:/b",
        cites="docs/decisions/0007-archive-keys.md",
        rung=Rung.PRACTICE,
        lossless=False,
        apply=archives.fold_all_slashes,
    ),
    Step(
        name="archive-session",
        why="Indexes of web archives remove session identifiers of these forms.",
        before="http://example.com/a?CFID=1&CFTOKEN=2&b",
        after="http://example.com/a?b",
        cites="docs/decisions/0007-archive-keys.md",
        rung=Rung.PRACTICE,
        lossless=False,
        apply=archives.drop_sessions,
    ),
    Step(
        name="archive-order",
        why="Indexes of web archives sort all fields by name and value.",
        before="http://example.com/?b&a=2&a=1",
        after="http://example.com/?a=1&a=2&b",
        cites="docs/decisions/0007-archive-keys.md",
        rung=Rung.PRACTICE,
        lossless=False,
        apply=archives.sort_fields,
    ),
    Step(
        name="tracking",
        why="The parameter says where the visitor came from; it never selects content.",
        before="http://example.com/a?id=1&utm_source=mail",
        after="http://example.com/a?id=1",
        cites="docs/decisions/0004-practice-rules.md",
        rung=Rung.PRACTICE,
        lossless=False,
        bind=practice.drop_tracking,
    ),
    Step(
        name="session-id",
        why="The parameter identifies a visitor's session, by its name and its value's form.",
        before="http://example.com/a?PHPSESSID=0123456789abcdef0123456789abcdef",
        after="http://example.com/a",
        cites="docs/decisions/0004-practice-rules.md",
        rung=Rung.PRACTICE,
        lossless=False,
        bind=practice.drop_session,
    ),
    Step(
        name="sorted-query",
        why="Most programs read form fields by name, in any order.",
        before="http://example.com/a?b=2&a=1",
        after="http://example.com/a?a=1&b=2",
        cites="docs/decisions/0004-practice-rules.md",
        rung=Rung.PRACTICE,
        lossless=False,
        apply=practice.sort_query,
    ),
    Step(
        name="empty-query",
        why="A question mark without a query means nothing on most servers.",
        before="http://example.com/a?",
        after="http://example.com/a",
        cites="docs/decisions/0004-practice-rules.md",
        rung=Rung.PRACTICE,
        lossless=False,
        apply=practice.drop_empty_query,
    ),
    Step(
        name="duplicate-slashes",
        why="Most servers treat repeated slashes in a path as one.",
        before="http://example.com/a//b",
        after="http://example.com/a/b",
        cites="docs/decisions/0004-practice-rules.md",
        rung=Rung.PRACTICE,
        lossless=False,
        apply=practice.fold_slashes,
    ),
    Step(
        name="index-file",
        why="A directory's URL usually returns its default document.",
        before="http://example.com/a/index.html",
        after="http://example.com/a/",
        cites="docs/decisions/0004-practice-rules.md",
        rung=Rung.PRACTICE,
        lossless=False,
        bind=practice.drop_index_file,
    ),
    Step(
        name="trailing-slash",
        why="Most servers redirect one of the two forms to the other.",
        before="http://example.com/a/",
        after="http://example.com/a",
        cites="docs/decisions/0007-archive-keys.md",
        rung=Rung.PRACTICE,
        lossless=False,
        apply=practice.drop_trailing_slash,
    ),
    Step(
        name="fragment",
        why="The fragment is never sent to the server; it points into the page.",
        before="http://example.com/a#top",
        after="http://example.com/a",
        cites="RFC 3986 section 6.1",
        rung=Rung.PRACTICE,
        lossless=False,
        apply=practice.drop_fragment,
    ),
    Step(
        name="plain-fragment",
        why="Like 'fragment', but '#!' stays: some applications name their pages with it.",
        before="http://example.com/a#top",
        after="http://example.com/a",
        cites="docs/decisions/0004-practice-rules.md",
        rung=Rung.PRACTICE,
        lossless=False,
        apply=practice.drop_plain_fragment,
    ),
)

# The names of the guesses; a policy chooses among them.
PRACTICE = frozenset(step.name for step in STEPS if step.rung == Rung.PRACTICE)


def rows_of(edition: int) -> tuple[Step, ...]:
    """Return the rows of an edition, in order; each name occurs once."""
    return tuple(
        step
        for step in STEPS
        if step.since <= edition and (step.until is None or edition < step.until)
    )

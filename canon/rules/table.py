"""THE table of rules: what runs, what `explain` prints, what the rules page shows.

A step is a total function from parts to parts. It returns the same object if it has nothing to do.
The steps are in the order in which they run. Those below `Rung.PRACTICE` always run.
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
# some of them, where the draft of 2003 differs (docs/reference/policies.md).
DIALECTS = ("rfc3986", "whatwg", "rfc2396bis-01")
_LATER = frozenset({"rfc3986", "whatwg"})
_2003 = frozenset({"rfc2396bis-01"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Rule):
    """A row of the table: the rule, and ``apply``, the function that implements it.

    A rule that reads lists has ``bind`` instead: a function from the lists to its ``apply``.
    It runs under policies of its ``dialects`` only.
    """

    dialects: frozenset[str] = frozenset(DIALECTS)
    apply: Callable[[Parts], Parts] = unchanged
    bind: Callable[[Parameters], Callable[[Parts], Parts]] | None = None

    def bound(self, lists: Parameters) -> "Step":
        """Return the step with its ``apply``, made from these lists if it reads any."""
        return self if self.bind is None else replace(self, apply=self.bind(lists))


def _row(
    name: str,
    rung: Rung,
    apply: Callable[[Parts], Parts],
    cites: str,
    why: str,
    before: str,
    after: str,
    *,
    dialects: frozenset[str] = frozenset(DIALECTS),
    bind: Callable[[Parameters], Callable[[Parts], Parts]] | None = None,
) -> Step:
    """Return a row of the table."""
    return Step(
        name=name,
        why=why,
        before=before,
        after=after,
        cites=cites,
        rung=rung,
        lossless=rung < Rung.PRACTICE,
        dialects=dialects,
        apply=apply,
        bind=bind,
    )


# Name, rung, function, source; why; an example before and after.
# fmt: off
STEPS: tuple[Step, ...] = (
    _row("encode-disallowed", Rung.REPAIR, lossless.encode_disallowed, "RFC 3986 section 2.1",
         "A character that is not allowed there is percent-encoded, and so is a lone '%'.",
         "http://example.com/a|b?100%", "http://example.com/a%7Cb?100%25"),
    _row("percent-case", Rung.SYNTAX, lossless.upper_hex, "RFC 3986 section 6.2.2.1",
         "The hexadecimal digits of an escape are case-insensitive.",
         "http://example.com/%c3%a9", "http://example.com/%C3%A9"),
    _row("percent-unreserved", Rung.SYNTAX, lossless.decode_unreserved, "RFC 3986 section 6.2.2.2",
         "An unreserved character and its escape mean the same.",
         "http://example.com/%7Ebob", "http://example.com/~bob", dialects=_LATER),
    _row("percent-letters", Rung.SYNTAX, lossless.decode_letters,
         "draft-fielding-uri-rfc2396bis-01 section 6.2.2.2",
         "A letter, digit, '_' or '~' and its escape mean the same; other escapes stay.",
         "http://example.com/%7Eb%6Fb%2Dx/%2E%2E/a",
         "http://example.com/~bob%2Dx/%2E%2E/a", dialects=_2003),
    _row("scheme-case", Rung.SYNTAX, lossless.lower_scheme, "RFC 3986 section 6.2.2.1",
         "Schemes are case-insensitive.",
         "HTTP://example.com/", "http://example.com/"),
    _row("host-case", Rung.SYNTAX, lossless.lower_host, "RFC 3986 section 6.2.2.1",
         "Hosts are case-insensitive.",
         "http://Example.COM/", "http://example.com/"),
    _row("dot-segments", Rung.SYNTAX, lossless.remove_dots, "RFC 3986 section 6.2.2.3",
         "'.' and '..' are steps in the hierarchy, not names.",
         "http://example.com/a/./b/../c", "http://example.com/a/c", dialects=_LATER),
    _row("inner-dot-segments", Rung.SYNTAX, lossless.remove_inner_dots,
         "draft-fielding-uri-rfc2396bis-01 section 6.2.2.3",
         "'.' and '..' are steps in the hierarchy; a '..' that leads above the root stays.",
         "http://example.com/a/./b/../../../c", "http://example.com/../c", dialects=_2003),
    _row("idna-host", Rung.SCHEME, lossless.idna_host, "RFC 3986 section 3.2.2",
         "An internationalized domain name has one ASCII form, which DNS uses.",
         "http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/", dialects=_LATER),
    _row("ipv6-form", Rung.SCHEME, lossless.compress_ipv6, "RFC 5952 section 4",
         "An IPv6 address has one recommended spelling.",
         "http://[2001:db8:0:0:0:0:0:1]/", "http://[2001:db8::1]/", dialects=_LATER),
    _row("empty-port", Rung.SCHEME, lossless.drop_empty_port, "RFC 3986 section 6.2.3",
         "A colon without a port means nothing.",
         "http://example.com:/", "http://example.com/"),
    _row("port-zeros", Rung.SCHEME, lossless.strip_port_zeros, "RFC 3986 section 3.2.3",
         "A port is a number; leading zeros do not change it.",
         "http://example.com:08080/", "http://example.com:8080/", dialects=_LATER),
    _row("default-port", Rung.SCHEME, lossless.drop_default_port, "RFC 3986 section 6.2.3",
         "The scheme's default port need not be written.",
         "http://example.com:80/", "http://example.com/"),
    _row("empty-path", Rung.SCHEME, lossless.root_path, "RFC 3986 section 6.2.3",
         "After an authority, the empty path is the root.",
         "http://example.com?q", "http://example.com/?q", dialects=_LATER),
    _row("mailto-domain", Rung.SCHEME, by_scheme.fold_mailto, "RFC 6068 section 2",
         "Domains and names of header fields are case-insensitive; local parts are not.",
         "mailto:Joe@Example.COM?Subject=Hi", "mailto:Joe@example.com?subject=Hi"),
    _row("urn-equivalence", Rung.SCHEME, by_scheme.fold_urn, "RFC 8141 section 3",
         "Namespaces are case-insensitive; r-, q- and f-components do not count.",
         "urn:ISBN:0451450523?+a?=b#c", "urn:isbn:0451450523"),
    _row("tel-separators", Rung.SCHEME, by_scheme.strip_phone, "RFC 3966 section 4",
         "Visual separators mean nothing; parameters are unordered and case-insensitive.",
         "tel:+1-(816)-555.1212;EXT=9", "tel:+18165551212;ext=9"),
    _row("file-host", Rung.SCHEME, by_scheme.empty_local_host, "RFC 8089 section 2",
         "The local host can be empty, 'localhost' or absent; 'C|' is an old spelling of 'C:'.",
         "file://localhost/C|/a", "file:///C:/a"),
    _row("ftp-type", Rung.SCHEME, by_scheme.lower_transfer_type, "RFC 1738 section 3.2.2",
         "The transfer type is case-insensitive.",
         "ftp://ftp.example.com/a;type=A", "ftp://ftp.example.com/a;type=a"),
    _row("gopher-type", Rung.SCHEME, by_scheme.add_gopher_type, "RFC 4266 section 2.1",
         "A Gopher URL without type and selector is a menu, which is type 1.",
         "gopher://gopher.example.com/", "gopher://gopher.example.com/1"),
    _row("data-type", Rung.SCHEME, by_scheme.shorten_media_type, "RFC 2397 section 2",
         "Media types are case-insensitive; the default is text/plain in US-ASCII.",
         "data:TEXT/Plain;charset=US-ASCII,a", "data:,a"),
    _row("ldap-tail", Rung.SCHEME, by_scheme.strip_ldap_tail, "RFC 4516 section 2",
         "Trailing question marks mean the defaults.",
         "ldap://ldap.example.com/dc=a??sub??", "ldap://ldap.example.com/dc=a??sub"),
    _row("userinfo", Rung.PRACTICE, practice.drop_userinfo, "docs/decisions/0007-archive-keys.md",
         "User name and password say who sends a request, not for what.",
         "http://user:pw@example.com/", "http://example.com/"),
    _row("scheme-fold", Rung.PRACTICE, practice.fold_scheme, "docs/decisions/0007-archive-keys.md",
         "Most sites serve the same pages over http and https.",
         "https://example.com/a", "http://example.com/a"),
    _row("host-dot", Rung.PRACTICE, practice.drop_host_dot, "docs/decisions/0007-archive-keys.md",
         "A trailing dot only marks a domain name as complete.",
         "http://example.com./", "http://example.com/"),
    _row("www", Rung.PRACTICE, practice.drop_www, "docs/decisions/0007-archive-keys.md",
         "Most sites serve the same pages with and without the label 'www'.",
         "http://www2.example.com/", "http://example.com/"),
    _row("decode-escapes", Rung.PRACTICE, archives.decode_escapes,
         "docs/decisions/0007-archive-keys.md",
         "Indexes of web archives decode every escape, also those of reserved characters.",
         "http://example.com/a%2Fb%252Fc?d=%26e", "http://example.com/a/b/c?d=&e"),
    _row("letter-case", Rung.PRACTICE, practice.lower_letters,
         "docs/decisions/0007-archive-keys.md",
         "Some servers ignore letter case in paths and queries.",
         "http://example.com/Index.HTML?Q=A", "http://example.com/index.html?q=a"),
    _row("all-slashes", Rung.PRACTICE, archives.fold_all_slashes,
         "docs/decisions/0007-archive-keys.md",
         "Indexes of web archives fold all slashes, also those of a URL inside a path.",
         "http://example.com/a/http://b", "http://example.com/a/http:/b"),
    _row("archive-session", Rung.PRACTICE, archives.drop_sessions,
         "docs/decisions/0007-archive-keys.md",
         "Indexes of web archives remove session identifiers of these forms.",
         "http://example.com/a?CFID=1&CFTOKEN=2&b", "http://example.com/a?b"),
    _row("archive-order", Rung.PRACTICE, archives.sort_fields,
         "docs/decisions/0007-archive-keys.md",
         "Indexes of web archives sort all fields by name and value.",
         "http://example.com/?b&a=2&a=1", "http://example.com/?a=1&a=2&b"),
    _row("tracking", Rung.PRACTICE, unchanged,
         "docs/decisions/0004-practice-rules.md",
         "The parameter says where the visitor came from; it never selects content.",
         "http://example.com/a?id=1&utm_source=mail", "http://example.com/a?id=1",
         bind=practice.drop_tracking),
    _row("session-id", Rung.PRACTICE, unchanged,
         "docs/decisions/0004-practice-rules.md",
         "The parameter identifies a visitor's session, by its name and its value's form.",
         "http://example.com/a?PHPSESSID=0123456789abcdef0123456789abcdef", "http://example.com/a",
         bind=practice.drop_session),
    _row("sorted-query", Rung.PRACTICE, practice.sort_query,
         "docs/decisions/0004-practice-rules.md",
         "Most programs read form fields by name, in any order.",
         "http://example.com/a?b=2&a=1", "http://example.com/a?a=1&b=2"),
    _row("empty-query", Rung.PRACTICE, practice.drop_empty_query,
         "docs/decisions/0004-practice-rules.md",
         "A question mark without a query means nothing on most servers.",
         "http://example.com/a?", "http://example.com/a"),
    _row("duplicate-slashes", Rung.PRACTICE, practice.fold_slashes,
         "docs/decisions/0004-practice-rules.md",
         "Most servers treat repeated slashes in a path as one.",
         "http://example.com/a//b", "http://example.com/a/b"),
    _row("index-file", Rung.PRACTICE, unchanged,
         "docs/decisions/0004-practice-rules.md",
         "A directory's URL usually returns its default document.",
         "http://example.com/a/index.html", "http://example.com/a/", bind=practice.drop_index_file),
    _row("trailing-slash", Rung.PRACTICE, practice.drop_trailing_slash,
         "docs/decisions/0007-archive-keys.md",
         "Most servers redirect one of the two forms to the other.",
         "http://example.com/a/", "http://example.com/a"),
    _row("fragment", Rung.PRACTICE, practice.drop_fragment, "RFC 3986 section 6.1",
         "The fragment is never sent to the server; it points into the page.",
         "http://example.com/a#top", "http://example.com/a"),
    _row("plain-fragment", Rung.PRACTICE, practice.drop_plain_fragment,
         "docs/decisions/0004-practice-rules.md",
         "Like 'fragment', but '#!' stays: some applications name their pages with it.",
         "http://example.com/a#top", "http://example.com/a"),
)
# fmt: on

# The names of the heuristics; a policy chooses among them.
PRACTICE = frozenset(step.name for step in STEPS if step.rung == Rung.PRACTICE)

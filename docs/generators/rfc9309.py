"""RFC 9309 row by row: each rule with a robots.txt that shows it. The tests run every row."""

from typing import NamedTuple


class Row(NamedTuple):
    """A robots.txt, a path, and whether a crawler named Canonry may fetch it."""

    section: str
    says: str
    file: str
    path: str
    allowed: bool


_PRIVATE = "Disallow: /x"
_TWICE = (
    "User-agent: canonry\nDisallow: /x\n\nUser-agent: b\nDisallow: /\n\n"
    "User-agent: canonry\nDisallow: /y"
)
_YES, _NO = True, False

ROWS = (
    Row(
        "2.2.1",
        "the product token matches in any case",
        f"user-AGENT: cAnOnRy\n{_PRIVATE}",
        "/x",
        _NO,
    ),
    Row(
        "2.2.1",
        "a longer name is another crawler",
        f"User-agent: canonry-images\n{_PRIVATE}",
        "/x",
        _YES,
    ),
    Row("2.2.1", "a shorter name is another crawler", f"User-agent: canon\n{_PRIVATE}", "/x", _YES),
    Row(
        "2.2.1",
        "text after the token is ignored",
        f"User-agent: Canonry/2.1 (x)\n{_PRIVATE}",
        "/x",
        _NO,
    ),
    Row(
        "2.2.1",
        "a group may have several user-agent lines",
        f"User-agent: a\nUser-agent: canonry\nUser-agent: b\n{_PRIVATE}",
        "/x",
        _NO,
    ),
    Row(
        "2.2.1",
        "groups with the same token are merged",
        _TWICE,
        "/x",
        _NO,
    ),
    Row(
        "2.2.1",
        "and the second of them counts",
        _TWICE,
        "/y",
        _NO,
    ),
    Row(
        "2.2.1",
        "groups for `*` are merged, too",
        f"User-agent: *\n{_PRIVATE}\n\nUser-agent: *\nDisallow: /y",
        "/y",
        _NO,
    ),
    Row(
        "2.2.1",
        "without an own group, the group for `*` applies",
        f"User-agent: *\n{_PRIVATE}",
        "/x",
        _NO,
    ),
    Row(
        "2.2.1",
        "the own group applies instead of the group for `*`",
        f"User-agent: *\n{_PRIVATE}\n\nUser-agent: canonry\nDisallow: /y",
        "/x",
        _YES,
    ),
    Row(
        "2.2.1",
        "also if it comes first and has no rules",
        "User-agent: canonry\n\nUser-agent: b\nDisallow: /y\n\nUser-agent: *\nDisallow: /x",
        "/x",
        _YES,
    ),
    Row(
        "2.2.1",
        "if no group applies, everything is allowed",
        f"User-agent: b\n{_PRIVATE}",
        "/x",
        _YES,
    ),
    Row(
        "2.2.1",
        "rules before the first group are ignored",
        f"{_PRIVATE}\nUser-agent: canonry\nDisallow: /y",
        "/x",
        _YES,
    ),
    Row(
        "2.2.1",
        "an empty line does not end a group",
        f"User-agent: canonry\n\n{_PRIVATE}",
        "/x",
        _NO,
    ),
    Row(
        "2.2.2", "a path that matches no rule is allowed", f"User-agent: *\n{_PRIVATE}", "/y", _YES
    ),
    Row(
        "2.2.2",
        "a rule matches from the start of the path",
        f"User-agent: *\n{_PRIVATE}",
        "/a/x",
        _YES,
    ),
    Row("2.2.2", "a rule is a prefix", f"User-agent: *\n{_PRIVATE}", "/xyz", _NO),
    Row("2.2.2", "paths are case-sensitive", f"User-agent: *\n{_PRIVATE}", "/X", _YES),
    Row(
        "2.2.2",
        "the longest match wins, in any order",
        "User-agent: *\nAllow: /x/page\nDisallow: /x/",
        "/x/page",
        _YES,
    ),
    Row(
        "2.2.2",
        "also if it disallows",
        "User-agent: *\nAllow: /x\nDisallow: /x/page",
        "/x/page",
        _NO,
    ),
    Row(
        "2.2.2",
        "of two matches of the same length, Allow wins",
        "User-agent: *\nDisallow: /x\nAllow: /x",
        "/x",
        _YES,
    ),
    Row("2.2.2", "an empty Disallow disallows nothing", "User-agent: *\nDisallow:", "/x", _YES),
    Row(
        "2.2.2",
        "the query is matched, too",
        "User-agent: *\nDisallow: /x?y=1",
        "/x?y=1",
        _NO,
    ),
    Row(
        "2.2.2",
        "/robots.txt itself is always allowed",
        "User-agent: *\nDisallow: /",
        "/robots.txt",
        _YES,
    ),
    Row(
        "2.2.2",
        "an octet outside ASCII matches its percent-encoding",
        "User-agent: *\nDisallow: /foo/bar/ツ",
        "/foo/bar/%E3%83%84",
        _NO,
    ),
    Row(
        "2.2.2",
        "percent-encodings match in either case",
        "User-agent: *\nDisallow: /foo/bar/%e3%83%84",
        "/foo/bar/%E3%83%84",
        _NO,
    ),
    Row(
        "2.2.2",
        "a percent-encoded unreserved character equals the character",
        "User-agent: *\nDisallow: /foo/bar/%62%61%7A",
        "/foo/bar/baz",
        _NO,
    ),
    Row(
        "2.2.2",
        "and the other way round",
        "User-agent: *\nDisallow: /foo/bar/baz",
        "/foo/bar/%62%61%7A",
        _NO,
    ),
    Row(
        "2.2.2",
        "a percent-encoded reserved character does not",
        "User-agent: *\nDisallow: /a/b",
        "/a%2Fb",
        _YES,
    ),
    Row(
        "2.2.2",
        "a percent-encoded URL in a query stays encoded",
        "User-agent: *\nDisallow: /foo/bar?baz=https%3A%2F%2Ffoo.bar",
        "/foo/bar?baz=https%3A%2F%2Ffoo.bar",
        _NO,
    ),
    Row(
        "2.2.2",
        "nor the other way round",
        "User-agent: *\nDisallow: /a%2Fb",
        "/a/b",
        _YES,
    ),
    Row(
        "2.2.2",
        "an encoded question mark begins no query",
        "User-agent: *\nDisallow: /a?b",
        "/a%3Fb",
        _YES,
    ),
    Row("2.2.2", "and the other way round", "User-agent: *\nDisallow: /a%3Fb", "/a?b", _YES),
    Row(
        "2.2.2",
        "of two spellings that are equal, Allow wins, too",
        "User-agent: *\nAllow: /b\nDisallow: /%62",
        "/b",
        _YES,
    ),
    Row(
        "2.2.2",
        "an escape that is not UTF-8 matches itself",
        "User-agent: *\nDisallow: /%ff",
        "/%FF",
        _NO,
    ),
    Row("2.2.2", "and no other", "User-agent: *\nDisallow: /%FF", "/%FE", _YES),
    Row("2.2.2", "a percent sign alone is one", "User-agent: *\nDisallow: /100%", "/100%25", _NO),
    Row(
        "2.2.2",
        "a character that URLs escape matches its escape",
        "User-agent: *\nDisallow: /a b|c",
        "/a%20b%7Cc",
        _NO,
    ),
    Row(
        "2.2.2",
        "a rule for index.html is none for its folder",
        "User-agent: *\nDisallow: /d/\nAllow: /d/index.html",
        "/d/",
        _NO,
    ),
    Row(
        "2.2.2",
        "but for the page",
        "User-agent: *\nDisallow: /d/\nAllow: /d/index.html",
        "/d/index.html",
        _YES,
    ),
    Row(
        "2.2.2",
        "a path that begins like /robots.txt is another",
        "User-agent: *\nDisallow: /",
        "/robots.txt?x=1",
        _NO,
    ),
    Row("2.2.2", "or ends like it", "User-agent: *\nDisallow: /", "/a/robots.txt", _NO),
    Row(
        "2.2.2",
        "a path that does not begin with a slash matches nothing",
        "User-agent: *\nDisallow: x",
        "/x",
        _YES,
    ),
    Row(
        "2.2.3",
        "comments are ignored",
        "User-agent: canonry # we\nDisallow: /x # because",
        "/x",
        _NO,
    ),
    Row("2.2.3", "$ matches the end", "User-agent: *\nDisallow: /*.php$", "/a.php", _NO),
    Row(
        "2.2.3",
        "so a longer path does not match",
        "User-agent: *\nDisallow: /*.php$",
        "/a.php?b",
        _YES,
    ),
    Row(
        "2.2.3",
        "* matches any number of characters, also none",
        "User-agent: *\nDisallow: /a*b",
        "/ab",
        _NO,
    ),
    Row(
        "2.2.3",
        "* matches slashes, too",
        "User-agent: *\nDisallow: /a*b",
        "/a/x/y/b/c",
        _NO,
    ),
    Row(
        "2.2.3",
        "a rule may have several of them",
        "User-agent: *\nDisallow: /*/x/*.html$",
        "/1/x/2/3.html",
        _NO,
    ),
    Row(
        "2.2.3",
        "a literal * is written %2A",
        "User-agent: *\nDisallow: /file-with-a-%2A.html",
        "/file-with-a-*.html",
        _NO,
    ),
    Row(
        "2.2.3",
        "and matches only a *",
        "User-agent: *\nDisallow: /file-with-a-%2A.html",
        "/file-with-a-b.html",
        _YES,
    ),
    Row(
        "2.2.3",
        "a literal $ is written %24",
        "User-agent: *\nDisallow: /foo-%24",
        "/foo-$",
        _NO,
    ),
    Row("2.2.3", "but not a %24", "User-agent: *\nDisallow: /foo-$", "/foo-%24", _YES),
    Row(
        "2.2.3",
        "a $ before the end is a character like others",
        "User-agent: *\nDisallow: /a$b",
        "/a$b/c",
        _NO,
    ),
    Row("2.2.3", "$ ends also a path without *", "User-agent: *\nDisallow: /x$", "/xy", _YES),
    Row(
        "2.2.3",
        "what follows the last * has to come after what precedes it",
        "User-agent: *\nDisallow: /ab*bc$",
        "/abc",
        _YES,
    ),
    Row(
        "2.2.3",
        "special characters count as octets of a rule",
        "User-agent: *\nAllow: /x\nDisallow: /x$",
        "/x",
        _NO,
    ),
    Row(
        "2.2.3",
        "a longer rule with * wins against a shorter one",
        "User-agent: *\nAllow: /page\nDisallow: /*.html",
        "/page.html",
        _NO,
    ),
    Row(
        "2.2.3",
        "and loses against a longer one",
        "User-agent: *\nAllow: /page.h\nDisallow: /*.html",
        "/page.html",
        _YES,
    ),
    Row(
        "2.2.4",
        "other records do not split the user-agent lines of a group",
        f"User-agent: canonry\nSitemap: http://a.example/s\nUser-agent: b\n{_PRIVATE}",
        "/x",
        _NO,
    ),
    Row(
        "2.2.4",
        "nor its rules",
        f"User-agent: canonry\nDisallow: /y\nSitemap: http://a.example/s\n{_PRIVATE}",
        "/x",
        _NO,
    ),
    Row(
        "2.2.4",
        "nor do unknown records",
        f"User-agent: canonry\nNoindex: /y\n{_PRIVATE}",
        "/x",
        _NO,
    ),
    *(
        Row(
            "2.2.4",
            f"{name} does not split the user-agent lines of a group",
            f"User-agent: canonry\n{name}: {value}\nUser-agent: b\n{_PRIVATE}",
            "/x",
            _NO,
        )
        for name, value in (("Noindex", "/y"), ("Crawl-delay", "1"), ("Host", "a.example"))
    ),
    Row(
        "2.2.4",
        "a rule does, also one without a path",
        f"User-agent: canonry\nDisallow:\nUser-agent: b\n{_PRIVATE}",
        "/x",
        _YES,
    ),
    Row("2.3", "lines may end with CR LF", f"User-agent: canonry\r\n{_PRIVATE}\r\n", "/x", _NO),
    Row("2.3", "or with CR alone", f"User-agent: canonry\r{_PRIVATE}\r", "/x", _NO),
    Row("2.3", "the last line needs no line end", f"User-agent: canonry\n{_PRIVATE}", "/x", _NO),
    *(
        Row(
            "2.3",
            f"but not with {name}",
            f"User-agent: canonry\nDisallow: /y{end}{_PRIVATE}",
            "/x",
            _YES,
        )
        for name, end in (
            ("LINE SEPARATOR", "\u2028"),
            ("NEXT LINE", "\x85"),
            ("VT", "\v"),
            ("FF", "\f"),
            ("FS", "\x1c"),
        )
    ),
    Row(
        "2.2",
        "white space is allowed around every element",
        " User-agent : canonry \n\tDisallow\t: /x\t",
        "/x",
        _NO,
    ),
    Row(
        "2.3",
        "a byte order mark is ignored",
        f"\ufeffUser-agent: canonry\n{_PRIVATE}",
        "/x",
        _NO,
    ),
    Row(
        "2.3.1.5",
        "lines that cannot be parsed are ignored",
        f"<html>\nUser-agent: canonry\nDisallow /y\n:\n{_PRIVATE}",
        "/x",
        _NO,
    ),
)


class Fetched(NamedTuple):
    """A rule about fetching the file, and its test."""

    section: str
    says: str
    test: str


FETCHED = (
    Fetched(
        "2.2.4", "sitemaps are read and followed", "test_a_crawl_follows_sitemaps_feeds_and_texts"
    ),
    Fetched(
        "2.3", "one file for each scheme, host and port", "test_the_origin_is_scheme_host_and_port"
    ),
    Fetched("2.3.1.1", "after a success its rules apply", "test_every_row_of_the_table"),
    Fetched(
        "2.3.1.2",
        "five redirects are followed, also to other hosts; the rules apply to the first host",
        "test_five_redirects_are_followed_and_count_for_the_first_origin",
    ),
    Fetched(
        "2.3.1.2",
        "a redirect to something that is not a web URL: unavailable",
        "test_a_redirect_to_nowhere_is_unavailable",
    ),
    Fetched(
        "2.3.1.3",
        "400 to 499: unavailable, everything is allowed; 429 counts as unreachable (stricter)",
        "test_a_file_that_is_unavailable_allows_all",
    ),
    Fetched(
        "2.3.1.4",
        "500 to 599, timeouts, network errors: unreachable, nothing is allowed",
        "test_a_file_that_is_unreachable_disallows_all_for_now",
    ),
    Fetched(
        "2.3.1.4",
        "after thirty days of that: unavailable",
        "test_after_thirty_days_an_unreachable_file_counts_as_missing",
    ),
    Fetched(
        "2.3.1.5",
        "garbage and byte order marks do not hide rules",
        "test_marks_and_garbage_do_not_hide_the_rules",
    ),
    Fetched("2.4", "fetched once in 24 hours", "test_it_is_fetched_once_a_day_for_each_origin"),
    Fetched(
        "2.4",
        "an older copy is used only while the file is unreachable",
        "test_the_last_file_applies_while_the_file_is_unreachable",
    ),
    Fetched(
        "2.5",
        "500 KiB are read and no more",
        "test_five_hundred_kibibytes_are_read_and_no_more",
    ),
    Fetched("2.5", "a longer file is cut between lines", "test_a_long_file_is_cut_between_lines"),
    Fetched(
        "2.5",
        "a file without end, or one that unpacks to gigabytes, is read that far, too",
        "test_no_robots_txt_is_too_large",
    ),
    Fetched(
        "",
        "before a redirect is followed at once, its target's robots.txt is checked",
        "test_a_redirect_that_is_followed_at_once_obeys_the_robots_txt_of_its_target",
    ),
    Fetched(
        "",
        "Crawl-delay, which is not in the RFC, is obeyed up to `max_crawl_delay`",
        "test_the_crawl_delay_of_robots_txt_is_obeyed_up_to_a_limit",
    ),
)

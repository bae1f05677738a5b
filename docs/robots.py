"""RFC 9309, row by row: what it says, and a robots.txt that shows it. Tests run every row."""

from typing import NamedTuple


class Row(NamedTuple):
    """A file, what is asked under it by a crawler named Canonry, and whether that is allowed."""

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
        "2.2.1", "a longer name is another's", f"User-agent: canonry-images\n{_PRIVATE}", "/x", _YES
    ),
    Row("2.2.1", "a shorter name is another's", f"User-agent: canon\n{_PRIVATE}", "/x", _YES),
    Row(
        "2.2.1",
        "what follows the token is no part of it",
        f"User-agent: Canonry/2.1 (x)\n{_PRIVATE}",
        "/x",
        _NO,
    ),
    Row(
        "2.2.1",
        "several lines name one group",
        f"User-agent: a\nUser-agent: canonry\nUser-agent: b\n{_PRIVATE}",
        "/x",
        _NO,
    ),
    Row(
        "2.2.1",
        "groups of one token are one group",
        _TWICE,
        "/x",
        _NO,
    ),
    Row(
        "2.2.1",
        "and their second part counts",
        _TWICE,
        "/y",
        _NO,
    ),
    Row(
        "2.2.1",
        "groups for all are one group, too",
        f"User-agent: *\n{_PRIVATE}\n\nUser-agent: *\nDisallow: /y",
        "/y",
        _NO,
    ),
    Row(
        "2.2.1",
        "without a group of its own, that for all holds",
        f"User-agent: *\n{_PRIVATE}",
        "/x",
        _NO,
    ),
    Row(
        "2.2.1",
        "its own group holds, and not that for all",
        f"User-agent: *\n{_PRIVATE}\n\nUser-agent: canonry\nDisallow: /y",
        "/x",
        _YES,
    ),
    Row(
        "2.2.1",
        "also when it stands first, and has no rules",
        "User-agent: canonry\n\nUser-agent: b\nDisallow: /y\n\nUser-agent: *\nDisallow: /x",
        "/x",
        _YES,
    ),
    Row(
        "2.2.1",
        "without any group for it, all is allowed",
        f"User-agent: b\n{_PRIVATE}",
        "/x",
        _YES,
    ),
    Row(
        "2.2.1",
        "rules before the first group belong to nobody",
        f"{_PRIVATE}\nUser-agent: canonry\nDisallow: /y",
        "/x",
        _YES,
    ),
    Row("2.2.1", "an empty line ends no group", f"User-agent: canonry\n\n{_PRIVATE}", "/x", _NO),
    Row("2.2.2", "what no rule matches is allowed", f"User-agent: *\n{_PRIVATE}", "/y", _YES),
    Row(
        "2.2.2",
        "a rule matches from the beginning of the path",
        f"User-agent: *\n{_PRIVATE}",
        "/a/x",
        _YES,
    ),
    Row("2.2.2", "and as far as it goes", f"User-agent: *\n{_PRIVATE}", "/xyz", _NO),
    Row("2.2.2", "paths are compared with their case", f"User-agent: *\n{_PRIVATE}", "/X", _YES),
    Row(
        "2.2.2",
        "the longest match counts, wherever it stands",
        "User-agent: *\nAllow: /x/page\nDisallow: /x/",
        "/x/page",
        _YES,
    ),
    Row(
        "2.2.2",
        "also where it disallows",
        "User-agent: *\nAllow: /x\nDisallow: /x/page",
        "/x/page",
        _NO,
    ),
    Row(
        "2.2.2",
        "of two equal ones the one that allows",
        "User-agent: *\nDisallow: /x\nAllow: /x",
        "/x",
        _YES,
    ),
    Row("2.2.2", "an empty Disallow disallows nothing", "User-agent: *\nDisallow:", "/x", _YES),
    Row(
        "2.2.2",
        "the query is part of what is matched",
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
        "an octet outside ASCII matches its escape",
        "User-agent: *\nDisallow: /foo/bar/ツ",
        "/foo/bar/%E3%83%84",
        _NO,
    ),
    Row(
        "2.2.2",
        "escapes match in either case",
        "User-agent: *\nDisallow: /foo/bar/%e3%83%84",
        "/foo/bar/%E3%83%84",
        _NO,
    ),
    Row(
        "2.2.2",
        "an escape of an unreserved character is that character",
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
        "an escape of a reserved one is not",
        "User-agent: *\nDisallow: /a/b",
        "/a%2Fb",
        _YES,
    ),
    Row(
        "2.2.2",
        "an escaped URL in a query is itself",
        "User-agent: *\nDisallow: /foo/bar?baz=https%3A%2F%2Ffoo.bar",
        "/foo/bar?baz=https%3A%2F%2Ffoo.bar",
        _NO,
    ),
    Row(
        "2.2.3",
        "a comment is none of the rule",
        "User-agent: canonry # we\nDisallow: /x # because",
        "/x",
        _NO,
    ),
    Row("2.2.3", "$ is the end", "User-agent: *\nDisallow: /*.php$", "/a.php", _NO),
    Row(
        "2.2.3", "and nothing comes behind it", "User-agent: *\nDisallow: /*.php$", "/a.php?b", _YES
    ),
    Row(
        "2.2.3",
        "* is any number of characters, also none",
        "User-agent: *\nDisallow: /a*b",
        "/ab",
        _NO,
    ),
    Row(
        "2.2.3",
        "in the middle of a path, over slashes",
        "User-agent: *\nDisallow: /a*b",
        "/a/x/y/b/c",
        _NO,
    ),
    Row("2.2.3", "several of them", "User-agent: *\nDisallow: /*/x/*.html$", "/1/x/2/3.html", _NO),
    Row(
        "2.2.3",
        "a * that is meant is written %2A",
        "User-agent: *\nDisallow: /file-with-a-%2A.html",
        "/file-with-a-*.html",
        _NO,
    ),
    Row(
        "2.2.3",
        "and matches nothing else",
        "User-agent: *\nDisallow: /file-with-a-%2A.html",
        "/file-with-a-b.html",
        _YES,
    ),
    Row(
        "2.2.3",
        "a $ that is meant is written %24",
        "User-agent: *\nDisallow: /foo-%24",
        "/foo-$",
        _NO,
    ),
    Row(
        "2.2.4",
        "other records do not come between lines of a group",
        f"User-agent: canonry\nSitemap: http://a.example/s\nUser-agent: b\n{_PRIVATE}",
        "/x",
        _NO,
    ),
    Row(
        "2.2.4",
        "nor between its rules",
        f"User-agent: canonry\nDisallow: /y\nSitemap: http://a.example/s\n{_PRIVATE}",
        "/x",
        _NO,
    ),
    Row(
        "2.2.4",
        "nor do those that nobody knows",
        f"User-agent: canonry\nNoindex: /y\n{_PRIVATE}",
        "/x",
        _NO,
    ),
    Row("2.3", "lines end by CR LF", f"User-agent: canonry\r\n{_PRIVATE}\r\n", "/x", _NO),
    Row("2.3", "or by CR alone", f"User-agent: canonry\r{_PRIVATE}\r", "/x", _NO),
    Row("2.3", "the last one needs no end", f"User-agent: canonry\n{_PRIVATE}", "/x", _NO),
    Row(
        "2.2",
        "there may be white space around everything",
        " User-agent : canonry \n\tDisallow\t: /x\t",
        "/x",
        _NO,
    ),
    Row(
        "2.3",
        "a byte order mark is none of the first line",
        f"\ufeffUser-agent: canonry\n{_PRIVATE}",
        "/x",
        _NO,
    ),
    Row(
        "2.3.1.5",
        "what cannot be read is left out",
        f"<html>\nUser-agent: canonry\nDisallow /y\n:\n{_PRIVATE}",
        "/x",
        _NO,
    ),
)


class Fetched(NamedTuple):
    """What is to be done about the file itself, and the test that tries it."""

    section: str
    says: str
    test: str


FETCHED = (
    Fetched(
        "2.2.4", "sitemaps are read, and followed", "test_a_crawl_follows_sitemaps_feeds_and_texts"
    ),
    Fetched("2.3", "one file for each scheme, host and port", "test_origins"),
    Fetched("2.3.1.1", "after success its rules hold", "test_every_row_of_the_table"),
    Fetched(
        "2.3.1.2",
        "five redirects are followed, to other hosts, too; the rules are the first host's",
        "test_five_redirects_are_followed_and_count_for_the_first_origin",
    ),
    Fetched(
        "2.3.1.2",
        "a redirect to what is no URL of the web: not there",
        "test_a_redirect_to_nowhere_is_unavailable",
    ),
    Fetched(
        "2.3.1.3",
        "400 to 499: not there, all is allowed; 429 is taken as unreachable, which is stricter",
        "test_a_file_that_is_unavailable_allows_all",
    ),
    Fetched(
        "2.3.1.4",
        "500 to 599, time-outs, faults of the network: nothing is allowed",
        "test_a_file_that_is_unreachable_disallows_all_for_now",
    ),
    Fetched(
        "2.3.1.4",
        "after thirty days of that: as if it were not there",
        "test_after_thirty_days_a_file_that_is_unreachable_counts_as_not_there",
    ),
    Fetched(
        "2.3.1.5",
        "garbage and byte order marks hide no rules",
        "test_marks_and_garbage_do_not_hide_the_rules",
    ),
    Fetched("2.4", "asked for once in 24 hours", "test_it_is_asked_for_once_a_day_and_origin"),
    Fetched(
        "2.4",
        "what was read last holds for longer only while it cannot be reached",
        "test_what_was_read_last_holds_while_the_file_is_unreachable",
    ),
    Fetched(
        "2.5",
        "500 KiB are read, and no more",
        "test_half_a_mebibyte_is_read_and_no_more",
    ),
    Fetched("2.5", "not to within a rule", "test_a_long_file_is_not_cut_within_a_rule"),
    Fetched(
        "",
        "a redirect that is followed at once asks for its target's robots.txt before",
        "test_a_redirect_followed_at_once_asks_for_the_robots_file_of_its_target",
    ),
    Fetched(
        "",
        "Crawl-delay, which is no part of the RFC, is obeyed up to `max_crawl_delay`",
        "test_a_crawl_delay_of_robots_is_obeyed_up_to_a_limit",
    ),
)

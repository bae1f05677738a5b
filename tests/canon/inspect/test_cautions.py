"""What a URL may hide: RFC 3986 section 7, and what earlier documents say of ports."""

from hypothesis import given
from support.strategies import anything, raw
from support.tables import each

import canonry


@each(
    ("url", "names"),
    [
        ("http://example.com/", []),
        # RFC 1738 section 6, 1997 section 7, 2003 section 7.2: any port that is not the default
        ("http://example.com:80/", []),
        ("http://example.com:0080/", []),
        ("http://example.com:/", []),
        ("http://example.com:8080/", ["PORT"]),
        ("https://example.com:80/", ["PORT"]),
        ("ws://example.com:443/", ["PORT"]),
        ("HTTP://example.com:99999900000025/", ["PORT"]),
        ("telnet://example.com:23/", []),
        ("telnet://example.com:2323/", ["PORT"]),
        ("rlogin://example.com:5130/", ["PORT"]),  # no document names a default
        ("x-foo://example.com:8080/", ["PORT"]),
        ("x-foo://example.com/", []),
        # RFC 3986 section 7.2: mail servers may act on HTTP requests
        ("http://example.com:25/%0D%0AHELO", ["PORT", "RESERVED_PORT", "LINE_BREAK"]),
        ("http://example.com:0022/", ["PORT", "RESERVED_PORT"]),
        ("http://example.com:0/", ["PORT", "RESERVED_PORT"]),
        ("http://example.com:1023/", ["PORT", "RESERVED_PORT"]),
        ("http://example.com:1024/", ["PORT"]),
        ("telnet://example.com:25/", ["PORT", "RESERVED_PORT"]),
        # 80 and 443 belong to another protocol for these
        ("gopher://example.com:80/", ["PORT", "RESERVED_PORT"]),
        ("ftp://example.com:443/", ["PORT", "RESERVED_PORT"]),
        # Section 7.3
        ("http://example.com/a\r\nb", ["LINE_BREAK"]),
        ("http://example.com/%0a", ["LINE_BREAK"]),
        ("http://example.com/%0B", []),
        # Section 7.4
        ("http://127.0.0.1/", []),
        ("http://0x7f.1/", ["IPV4"]),
        ("http://2130706433/", ["IPV4"]),
        ("http://127.0.0.01/", ["IPV4"]),
        ("http://1.2.3.4.5/", []),
        # Sections 7.5 and 7.6
        ("ftp://u:p@example.com/", ["PASSWORD"]),
        ("ftp://u:@example.com/", []),
        ("http://cnn.example.com&story=breaking_news@10.0.0.1/top_story.htm", ["USERINFO"]),
        ("http://www%2Eexample.com@evil.example/", ["USERINFO"]),
        # Hosts that browsers and the RFC read differently
        ("http://a.example\\@b.example/", ["USERINFO", "HOST"]),
        ("http:b.example/", ["HOST"]),
        ("http:///b.example/", ["HOST"]),
        ("", []),
        ("a/b", []),
        ("\ud800", []),
    ],
)
def test_cautions(url: str, names: list[str]) -> None:
    assert [caution.name for caution in canonry.cautions(url)] == names


@given(anything | raw)
def test_cautions_are_total(url: str | bytes) -> None:
    for caution in canonry.cautions(url):
        assert caution.value

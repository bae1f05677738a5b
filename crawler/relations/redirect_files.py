"""The map of moved pages as configuration of web servers: patterns where they hold, else lines."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from canonry.canon import redact
from canonry.crawler.relations.compared_pages import ComparedPage
from canonry.crawler.relations.moved_pages import MovedPage, MovedPages, MovePattern

_ODD = re.compile(r"[\x00-\x20\"\\\x7f]")  # what no configuration has without escapes


class RedirectRow(NamedTuple):
    """A page that has gone, and its new place."""

    url: str
    target: str | None  # null: none was found
    evidence: str  # equal content, title, or path: of a directory that moved
    doubt: str  # empty: none
    pattern: str | None  # the move of its directory


class RedirectFile(NamedTuple):
    """The text of a file, and how many moves it cannot say."""

    text: str
    patterns: int
    lines: int
    unsaid: Sequence[MovedPage]


class _Said(NamedTuple):
    """How a server says a redirect; "" for what it cannot say."""

    line: Callable[[str, str], str]  # the old URL without its host, and where it leads
    pattern: Callable[[str, str, str, str], str]  # the parts of a `MovePattern`, without hosts
    head: str = ""
    end: str = ""


def _nginx_line(old: str, to: str) -> str:
    more = "" if "?" in old else r"(?:\?.*)?"
    return f'    "~^{re.escape(old)}{more}$" "{_plain(to)}";'


def _nginx_pattern(old: str, old_end: str, new: str, new_end: str) -> str:
    stays = "(?<stays>[^?]+)" if old_end or new_end else "(?<stays>.+)"
    more = r"(?:\?.*)?" if old_end or new_end else ""
    leads = f"{_plain(new)}$stays{_plain(new_end)}"
    return f'    "~^{re.escape(old)}{stays}{re.escape(old_end)}{more}$" "{leads}";'


def _apache_line(old: str, to: str) -> str:
    path, mark, query = old.partition("?")
    if mark:
        condition = f'RewriteCond "%{{QUERY_STRING}}" "^{re.escape(query)}$"'
        rule = f'RewriteRule "^/?{re.escape(unquote(path[1:]))}$" "{_escaped(to)}" [R=301,L,NE,QSD]'
        return f"{condition}\n{rule}"
    return f'RewriteRule "^/?{re.escape(unquote(path[1:]))}$" "{_escaped(to)}" [R=301,L,NE]'


def _apache_pattern(old: str, old_end: str, new: str, new_end: str) -> str:
    rule = f"^/?{re.escape(unquote(old[1:]))}(.+){re.escape(old_end)}$"
    return f'RewriteRule "{rule}" "{_escaped(new)}$1{_escaped(new_end)}" [R=301,L]'


def _netlify_line(old: str, to: str) -> str:
    return "" if "?" in old or "*" in old or ":" in old else f"{old} {to} 301"


def _netlify_pattern(old: str, old_end: str, new: str, new_end: str) -> str:
    return "" if old_end or new_end or ":" in old else f"{old}* {new}:splat 301"


def _plain(text: str) -> str:
    """Return a target in which nothing is a variable."""
    return text.replace("$", "%24")


def _escaped(text: str) -> str:
    """Return a target of mod_rewrite, in which ``%`` and ``$`` are themselves."""
    return _plain(text).replace("%", r"\%")


_SERVERS = {
    "nginx": _Said(
        _nginx_line,
        _nginx_pattern,
        "# In http: this map. In server: if ($canonry_moved) { return 301 $canonry_moved; }\n"
        'map $request_uri $canonry_moved {\n    default "";\n',
        "}\n",
    ),
    "apache": _Said(_apache_line, _apache_pattern, "RewriteEngine On\n"),
    "netlify": _Said(_netlify_line, _netlify_pattern),
}
SERVERS = tuple(_SERVERS)


def redirect_file(server: str, moved: Sequence[MovedPage]) -> RedirectFile:
    """Return the redirects of moved pages as a server's configuration.

    Args:
        server: one of `SERVERS`.
        moved: pages with their new places. Of several hosts, each has its part, after a comment.
    """
    said = _SERVERS[server]
    found = RedirectFile("", 0, 0, [])
    text = said.head
    for host in sorted({one.page.host for one in moved}):
        here = [one for one in moved if one.page.host == host]
        moved_alike = {one.pattern: one.to for one in here if one.pattern}
        wide = {pattern: _pattern_in(said, pattern, to) for pattern, to in moved_alike.items()}
        single = {one: _line_in(said, one) for one in here if not wide.get(one.pattern)}  # type: ignore[arg-type]  # None is no key
        # The first that fits counts: lines, then patterns, the longest first.
        lines = list(filter(None, single.values()))
        patterns = sorted(filter(None, wide.values()), key=lambda one: (-len(one), one))
        text += "".join(f"{line}\n" for line in (f"# {host}", *lines, *patterns))
        found = found._replace(
            patterns=found.patterns + len(patterns),
            lines=found.lines + len(lines),
            unsaid=[*found.unsaid, *(one for one, line in single.items() if not line)],
        )
    return found._replace(text=text + said.end)


def _line_in(said: _Said, one: MovedPage) -> str:
    target = one.to.url if one.to.host != one.page.host else f"/{one.to.path}"
    old = f"/{one.page.path}"
    return "" if _ODD.search(unquote(old)) or _ODD.search(target) else said.line(old, target)


def _pattern_in(said: _Said, pattern: MovePattern, to: ComparedPage) -> str:
    """Return how a server says the move of a directory, of which one page is given; "" if not."""
    old_host, _, old = pattern.old.partition("/")
    new_host, _, new = pattern.new.partition("/")
    scheme = to.url.partition("://")[0]
    target = f"/{new}" if old_host == new_host else f"{scheme}://{pattern.new}"
    if any(_ODD.search(unquote(part)) for part in (old, target, *pattern)):
        return ""
    return said.pattern(f"/{old}", pattern.old_end, target, pattern.new_end)


def rows(found: MovedPages) -> Iterator[RedirectRow]:
    """Yield the map as rows of a table; at last the pages without a new place."""
    for one in found.moved:
        pattern = None if one.pattern is None else str(one.pattern)
        yield RedirectRow(
            redact(one.page.url), redact(one.to.url), one.by.value, one.doubt, pattern
        )
    for page in found.gone:
        yield RedirectRow(redact(page.url), None, "", "", None)

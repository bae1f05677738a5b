"""The rules of a robots.txt (RFC 9309 section 2.2), for one crawler.

Libraries for robots.txt follow search engines where these depart from the RFC; this follows the
RFC. To read a file, and to judge a URL by it, takes linear time, whatever the file holds.
"""

import math
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from canonry.canon.syntax import Parts, percent

# A line with a known field. Beyond section 2.2, usual misspellings are accepted, and so is a space
# instead of the colon before a single word: what the owner means is plain. Fields differ in their
# first letter.
_LINE = re.compile(
    r"""^[ \t]*+
    ( user[- ]?agent
    | allow
    | disallow | dissallow | dissalow | disalow | diasllow | disallaw
    | crawl[- ]delay
    | site-?maps?
    | content-signal | content-usage
    )
    (?: [ \t]*+ : [ \t]*+ ([^#\n]*+) | [ \t]++ ([^ \t#\n]++) [ \t]*+ (?=\#|$) )""",
    re.ASCII | re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_AGENT, _ALLOW, _DISALLOW, _DELAY, _SITEMAP = "uadcs"
_SIGNAL, _USAGE = "le"  # the last letters of theirs
_ABOUT_USE = {_SIGNAL: "content-signal", _USAGE: "content-usage"}
_FIELDS = frozenset({_ALLOW, _DISALLOW, _DELAY, _SITEMAP, *_ABOUT_USE})  # of groups
_TOKEN = re.compile(r"[A-Za-z_-]++|\*(?!\S)")  # section 2.2.1: the characters of a product token
_ALL = "*"
# Before a comparison, all but unreserved and reserved characters are encoded (section 2.2.2), and
# so are "*" and "$", which a pattern can only write as "%2A" and "%24" (section 2.2.3).
_RESERVED = (percent.GEN_DELIMS + percent.SUB_DELIMS).translate(dict.fromkeys(b"*$"))
_ENCODED = percent.encoder(percent.UNRESERVED + _RESERVED)
_OWN_PATH = "/robots.txt"


class _Pattern(NamedTuple):
    """A path with special characters, split at each ``*`` (section 2.2.3)."""

    length: int
    allows: bool
    pieces: tuple[str, ...]
    ends: bool  # with "$"

    @classmethod
    def of(cls, path: str, *, allows: bool) -> "_Pattern":
        """Split a path; a "$" is only special as its last character."""
        ends = path.endswith("$")
        pieces = tuple(_comparable(piece) for piece in path.removesuffix("$").split("*"))
        return cls(sum(map(len, pieces)) + len(pieces) - 1 + ends, allows, pieces, ends)

    def matches(self, target: str) -> bool:
        """Return True if the pattern matches, beginning at the first octet.

        Each piece is looked for at its leftmost place, which leaves most to the pieces after it.
        """
        first, *others = self.pieces
        if not target.startswith(first):
            return False
        if self.ends and not others:
            return target == first
        last = others.pop() if self.ends else ""
        at = len(first)
        for piece in others:
            at = target.find(piece, at)
            if at < 0:
                return False
            at += len(piece)
        return len(target) - at >= len(last) and target.endswith(last)


class _Line(NamedTuple):
    """A line with a known field: a letter for it, the value, and the line's offset."""

    field: str
    value: str
    at: int


class DecidingLine(NamedTuple):
    """The line of a robots.txt that decides about a URL."""

    number: int  # from 1
    text: str  # as in the file
    allows: bool


class RobotsRules:
    """What one crawler may fetch from an origin."""

    def __init__(
        self,
        rules: Iterator[tuple[str, bool]],
        delay: float | None,
        sitemaps: tuple[str, ...],
        uses: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Sort the rules, the longest first.

        Args:
            rules: paths as in the file, and True where they are allowed.
            delay: seconds between requests, or None.
            sitemaps: references to sitemaps, as in the file.
            uses: names and values of the fields about the use of pages.
        """
        self.delay = delay
        self.sitemaps = sitemaps
        self._uses = [(name, *_use_of(value)) for name, value in uses]
        self._prefixes: dict[str, bool] = {}
        patterns: set[_Pattern] = set()
        for path, allows in rules:
            if "*" in path or path.endswith("$"):
                patterns.add(_Pattern.of(path, allows=allows))
            elif path:
                prefix = _comparable(path)
                self._prefixes[prefix] = allows or self._prefixes.get(prefix, False)
        self._lengths = sorted({len(prefix) for prefix in self._prefixes}, reverse=True)
        self._patterns = sorted(patterns, key=lambda pattern: pattern[:2], reverse=True)

    def allow(self, url: str) -> bool:
        """Return True if a URL may be fetched.

        The longest rule decides; of two that are equally long, "allow" does (section 2.2.2).
        """
        target = _target_of(url)
        if target == _OWN_PATH:
            return True
        best = (0, True)
        for length in self._lengths:
            if length <= len(target) and target[:length] in self._prefixes:
                best = (length, self._prefixes[target[:length]])
                break
        for pattern in self._patterns:
            if pattern[:2] <= best:
                break
            if pattern.matches(target):
                return pattern.allows
        return best[1]

    def uses(self, url: str) -> tuple[tuple[str, str], ...]:
        """Return what the file says about the use of a page: the name of a field and its value.

        Of each field, the lines with the longest path that matches count, all of them
        (draft-ietf-aipref-attach). A line without a path is about all pages.
        """
        if not self._uses:
            return ()
        target = _target_of(url)
        found: dict[str, tuple[int, list[str]]] = {}
        for name, pattern, value in self._uses:
            if pattern.matches(target):
                longest, values = found.get(name, (-1, []))
                if pattern.length > longest:
                    found[name] = pattern.length, [value]
                elif pattern.length == longest:
                    values.append(value)
        return tuple((name, ", ".join(values)) for name, (_length, values) in found.items())


def _use_of(value: str) -> tuple[_Pattern, str]:
    """Return the path of a field about use, if it begins with one, and the rest."""
    path, _space, rest = value.partition(" ")
    if not value.startswith(("/", "*")):
        path, rest = "", value
    return _Pattern.of(path, allows=True), rest.strip()


def parse_robots(text: str, agent: str) -> RobotsRules:
    """Read a robots.txt for one crawler.

    Args:
        text: the file, without byte order mark.
        agent: the crawler's product token.
    """
    lines = _lines_of(_unified(text))
    token = _group_for(agent, lines)
    delays = list(_delays_for(token, lines))
    return RobotsRules(
        ((line.value, line.field == _ALLOW) for line in _rules_for(token, lines)),
        max(delays, default=None),
        tuple(line.value for line in lines if line.field == _SITEMAP and line.value),
        tuple(_uses_for(token, lines)),
    )


def deciding_line(text: str, agent: str, url: str) -> DecidingLine | None:
    """Return the line that decides whether a URL may be fetched, as `RobotsRules.allow` decides.

    Args:
        text: the file, without byte order mark.
        agent: the crawler's product token.
        url: the URL.

    Returns:
        The first, if several lines decide the same; None if no line is about the URL.
    """
    target = _target_of(url)
    if target == _OWN_PATH:
        return None
    text = _unified(text)
    lines = _lines_of(text)
    best: tuple[tuple[int, bool], _Line] | None = None
    for line in _rules_for(_group_for(agent, lines), lines):
        pattern = _Pattern.of(line.value, allows=line.field == _ALLOW)
        is_better = best is None or pattern[:2] > best[0]
        if line.value and is_better and pattern.matches(target):
            best = pattern[:2], line
    if best is None:
        return None
    (_length, allows), line = best
    end = text.find("\n", line.at)
    shown = text[line.at : end if end >= 0 else None]
    return DecidingLine(text.count("\n", 0, line.at) + 1, shown.strip(), allows)


def _unified(text: str) -> str:
    """Return a file with one kind of line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _lines_of(text: str) -> list[_Line]:
    """Return the lines with known fields."""
    return [
        _Line(_field(line[1].lower()), (line[2] or line[3] or "").rstrip(" \t"), line.start())
        for line in _LINE.finditer(text)
    ]


def _field(name: str) -> str:
    """Return the letter for a field."""
    return name[-1] if name.startswith("content") else name[0]


def _group_for(agent: str, lines: list[_Line]) -> str:
    """Return the token whose groups are for a crawler: its own if the file names it, else "*"."""
    own = _token(agent)
    named = {_token(line.value) for line in lines if line.field == _AGENT}
    return own if own and own in named else _ALL


def _rules_for(token: str, lines: list[_Line]) -> Iterator[_Line]:
    """Yield the rules of all groups for a token; only a rule ends the user-agent lines of a group.

    "Parsing of other records MUST NOT interfere" with that (section 2.2.4).
    """
    rules = frozenset({_ALLOW, _DISALLOW})
    return (line for line in _lines_for(token, lines, ends=rules) if line.field in rules)


def _delays_for(token: str, lines: list[_Line]) -> Iterator[float]:
    """Yield the crawl delays for a token.

    The RFC has no Crawl-delay. One between user-agent lines is meant for those above it.
    """
    for line in _lines_for(token, lines, ends=_FIELDS - {_SITEMAP, *_ABOUT_USE}):
        if line.field == _DELAY and (delay := _seconds(line.value)) is not None:
            yield delay


def _uses_for(token: str, lines: list[_Line]) -> Iterator[tuple[str, str]]:
    """Yield the fields about use for a token, by name and value; those before all groups count."""
    for line in _lines_for(token, lines, ends=_FIELDS - {_SITEMAP}, before=True):
        if line.field in _ABOUT_USE:
            yield _ABOUT_USE[line.field], line.value


def _lines_for(
    token: str, lines: list[_Line], ends: Collection[str], *, before: bool = False
) -> Iterator[_Line]:
    """Yield the lines of the groups for a token, but for those that name crawlers.

    Args:
        token: the token.
        lines: of the file.
        ends: the fields after which a further user-agent line begins a group.
        before: True if lines before all groups count, too.
    """
    applies, reads_names = before, False
    for line in lines:
        if line.field == _AGENT:
            applies = (applies and reads_names) or _token(line.value) == token
            reads_names = True
            continue
        if line.field in ends:
            reads_names = False
        if applies:
            yield line


def _token(name: str) -> str:
    """Return the product token that a name begins with, in lower case; "" for none."""
    token = _TOKEN.match(name)
    return token[0].lower() if token else ""


def _seconds(text: str) -> float | None:
    """Return a number of seconds, or None."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _target_of(url: str) -> str:
    """Return the path and query of a URL as rules match them."""
    parts = Parts.of(url)
    path = parts.path or "/"
    return _comparable(path if parts.query is None else f"{path}?{parts.query}")


def _comparable(path: str) -> str:
    """Return a path as it is compared, octet by octet (section 2.2.2)."""
    return percent.decode_unreserved(percent.upper_hex(percent.encode(path, _ENCODED)))

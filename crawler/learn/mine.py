"""Mining: learning from a log of redirects instead of a crawl. The result is candidates only.

A log says where URLs led, but neither what was there nor what became of it. So a mined rule has to
prove itself in a crawl before it spares a fetch.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple

import msgspec
from canonry.crawler.learn.learner import Learner
from canonry.crawler.learn.life.thresholds import Thresholds
from canonry.crawler.learn.news import Moved

from canonry.canon import Canonicalizer, InvalidURL
from canonry.canon.learned import LearnedRule
from canonry.crawler.admission.scope import registrable
from canonry.extras import require
from canonry.storage.http_status import PERMANENT_REDIRECTS
from canonry.storage.learned.tracked_rule import TrackedRule

_PERMANENT = frozenset(map(str, PERMANENT_REDIRECTS))


class Pair(NamedTuple):
    """A line of a log: a URL, the status that it answered with, and where it led."""

    number: int
    old: str
    new: str
    status: str


class Mined(NamedTuple):
    """The result of mining a log."""

    rules: tuple[LearnedRule, ...]
    pairs: int  # permanent redirects
    other: int  # lines with another status, or without a target
    refused: dict[str, int]  # lines that could not be read, by reason


def mine(pairs: Iterable[Pair], canonicalizer: Canonicalizer, thresholds: Thresholds) -> Mined:
    """Learn from pairs; return the candidates with enough evidence for a probation.

    Args:
        pairs: as `read` yields them.
        canonicalizer: makes identities, without learned rules.
        thresholds: how much evidence makes a rule.
    """
    learner = Learner(thresholds, registrable)
    refused: dict[str, int] = {}
    used = other = 0
    for number, old, new, status in pairs:
        if status not in _PERMANENT or not new:
            other += 1
            continue
        try:
            source = canonicalizer.identity(old)
            target = canonicalizer.identity(new, source)
        except InvalidURL as error:
            name = error.reason.name.lower()
            refused[name] = refused.get(name, 0) + 1
            continue
        used += 1
        if source == target:
            continue
        learner.observe(Moved(source, target, float(number)))
    # One decision, at the end: a rule that is contradicted later is no less worth a probation.
    rules = [_candidate(rule) for rule in learner.decide(0.0).changed if rule.state == "probation"]
    return Mined(tuple(sorted(rules, key=lambda rule: rule.rewrite)), used, other, refused)


def _candidate(tracked: TrackedRule) -> LearnedRule:
    """Return a rule as a candidate, without times: the numbers of lines are none."""
    rule = tracked.as_learned()
    evidence = msgspec.structs.replace(rule.evidence, first_seen=None, last_seen=None)
    return msgspec.structs.replace(rule, state="candidate", evidence=evidence)


def read(lines: Iterable[str]) -> Iterator[Pair]:
    """Yield the pairs of a log. The format is recognized line by line.

    Lines of CDX (eleven or nine fields after a SURT and a timestamp) and CDXJ are recognized by
    their shape. Other lines are columns, separated by tabs or commas: the first two URLs are old
    and new, the first status code is the status; without one the redirect counts as permanent.
    """
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n")
        if text:
            yield _pair(number, text)


def read_warc(file: IO[bytes]) -> Iterator[Pair]:
    """Yield the pairs of a WARC file: its responses that are redirects.

    Args:
        file: WARC, plain or gzip by record.

    Raises:
        MissingExtraError: if warcio is not installed.
        OSError: if the file is truncated.
    """
    require("warc", "WARC")
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415 - optional
    from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415 - optional

    try:
        for number, record in enumerate(ArchiveIterator(file), 1):
            if record.rec_type == "response" and record.http_headers is not None:
                old = record.rec_headers.get_header("WARC-Target-URI") or ""
                new = record.http_headers.get_header("Location") or ""
                yield Pair(number, old, new, record.http_headers.get_statuscode())
    except ArchiveLoadFailed as error:
        raise OSError(str(error)) from None


def _pair(number: int, text: str) -> Pair:
    """Read one line."""
    key, _, rest = text.partition(" ")
    timestamp, _, record = rest.partition(" ")
    if len(timestamp) == len("20240131120000") and timestamp.isdecimal() and ")" in key:
        return _cdxj(number, record) if record.startswith("{") else _cdx(number, record)
    mark = "\t" if "\t" in text else ","
    try:
        columns = next(csv.reader(io.StringIO(text), delimiter=mark), [])
    except csv.Error:  # a line break inside a line, or a column of 128 KiB
        return Pair(number, "", "", "")
    found = [column for column in columns if "://" in column[:12]]
    statuses = [c for c in columns if len(c) == 3 and c.isdecimal()]  # noqa: PLR2004 - HTTP's format
    old, new = (*found[:2], "", "")[:2]
    return Pair(number, old, new, statuses[0] if statuses else "301")


def _cdx(number: int, record: str) -> Pair:
    """Read the fields after a CDX line's timestamp: URL, type, status, digest, redirect."""
    fields = record.split(" ")
    redirect = fields[4] if len(fields) > 4 else "-"  # noqa: PLR2004 - the fifth
    status = fields[2] if len(fields) > 2 else ""  # noqa: PLR2004 - the third
    return Pair(number, fields[0], "" if redirect == "-" else redirect, status)


def _cdxj(number: int, record: str) -> Pair:
    """Read the JSON of a CDXJ line, as Common Crawl and pywb write it."""
    try:
        given = msgspec.json.decode(record)
    except msgspec.DecodeError:
        return Pair(number, "", "", "")
    old, new = str(given.get("url", "")), str(given.get("redirect", ""))
    return Pair(number, old, "" if new == "-" else new, str(given.get("status", "")))

"""Walls: one content in place of many pages, as "are you human?" or a form to log in. Pure.

No word is matched: what counts is what a site answers. Pages with text in the same places, under
unlike paths, are *suspects*. About these, a site is asked a few questions: a name that does not
exist, a suspect again, and where it matters, another such name and another page. There is a wall if

- names that do not exist have one content, too, as of a soft 404;
- or the suspect has another content by now: the wall stood for a time;
- or ten suspects have one content, but for what changes by itself, and the other page has another;
- or the other page has the content of the suspects by now.

In the last case it hides the whole host. Without another page nothing is a wall: a site that has
always shown one thing may have nothing else. What differs between two answers for one name changes
by itself, and what differs between those for two names repeats the name.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from canonry.canon.syntax import Parts
from canonry.crawler.documents.text_blocks import place_of
from canonry.crawler.learn.suspects import (
    FEWEST,
    SIZES,
    SMALLEST,
    AnsweredPage,
    Blocks,
    SuspectGroups,
    Suspects,
    path_of,
    places,
)

_GROWTH = 4  # times as many unlike paths, before further questions
_SCATTERED = 6  # unlike paths, if other pages came between them
_ENOUGH = 10  # unlike names with one content, where names that do not exist have none
_STANDING = 8  # walls of a site
_MOST_HELD = 20_000  # URLs of a wall that are asked again as soon as it is gone
_BYTES_OF_ID = 44
_TOKENS = 8  # blocks of a wall that differ, if it has little else
_QUESTIONS, _SHARE = 6, 0.01  # requests for this: at least, and of all answers
_RUN = 8  # suspects in a row, for which three times as many requests are made
_MISSING = 100  # answers of a site, for which it is known that a name has none
_LONGER = 4.0  # times, each pause
_FOLDERS = 1_000  # of a site, in which a name that does not exist was asked for
_NOWHERE: frozenset[int] = frozenset()
_NAME = 10  # bytes of a name that does not exist


class WallPauses(NamedTuple):
    """How long a wall is left alone before it is asked again."""

    first: float = 10.0  # seconds; each further pause is four times as long
    most: int = 3


class WallNews(NamedTuple):
    """What follows from answers."""

    held: tuple[int, ...] = ()  # ids of URLs that have answered with a wall
    # Of such URLs, those to be asked again at once after a pause ...
    waiting: tuple[int, ...] = ()
    tries: int = 0  # ... the number of the pause, from 0
    hides_host: bool = False  # the whole host is to be paused as long, or was often enough
    again: tuple[int, ...] = ()  # ids of URLs to be asked again at once: their wall is gone
    questions: tuple[str, ...] = ()  # URLs to be requested once, for this alone
    kept: int | None = None  # the URL whose page shows what the wall is


@dataclass(slots=True)
class _Wall:
    """A wall, and the URLs that have answered with it."""

    kind: int
    size: int
    stays: Blocks
    changing: frozenset[int]  # places whose text changes by itself, or repeats the page's name
    hides_host: bool
    first: int | None = None  # of a part: the URL that is kept as a page, to show what there is
    scout: int | None = None  # the URL that is asked again after a pause, to see if it still stands
    tries: int = 0
    held: list[int] = field(default_factory=list)

    def is_met(self, answer: AnsweredPage) -> bool:
        """Return True if a page is this wall."""
        if answer.kind != self.kind or abs(answer.size - self.size) > SIZES:
            return False
        blocks = answer.blocks
        return self.stays <= blocks and places(blocks - self.stays) <= self.changing


class Walls:
    """The walls of one site, and what looks like one."""

    def __init__(
        self,
        pauses: WallPauses,
        known: Callable[[], list[str]] = list,
        titles_before: Callable[[Sequence[int]], AbstractSet[str | None]] = lambda _url_ids: set(),
    ) -> None:
        """Start without any.

        Args:
            pauses: before a wall is asked again.
            known: returns URLs of some pages of an earlier run; it is called once, if at all.
            titles_before: returns the titles that pages had in an earlier run, from the ids of
                URLs that have another page in this one.
        """
        self._titles_before = titles_before
        self._read_known = known
        self._known: list[str] | None = None  # those that have not been asked for
        self._pauses = pauses
        self._until = 0.0  # of the pause of the whole host; seconds since 1970
        self.tries = 0  # pauses of the whole host, one after the other
        self._groups = SuspectGroups()
        self._asked: dict[str, list[Suspects]] = {}  # by the URL of a question
        self._missing: dict[str, int] = {}  # folders where a name had no page, and when
        self._walls: list[_Wall] = []
        self._answers = self._questions = self._run = 0
        self._last: Suspects | None = None  # the group of the last answer
        self._news: list[WallNews] = []

    @property
    def size(self) -> int:
        """The approximate memory that they take, in bytes."""
        return self._groups.size + _BYTES_OF_ID * sum(len(wall.held) for wall in self._walls)

    def shrink(self, most_bytes: int) -> None:
        """Forget the oldest suspects, so that they take no more memory than this."""
        self._groups.shrink(most_bytes)

    def news(self) -> Iterator[WallNews]:
        """Yield what follows from the answers since the last call."""
        news, self._news = self._news, []
        yield from news

    def pause(self, news: WallNews, now: float) -> float | None:
        """Return until when URLs are to wait; None if a whole host has had enough pauses.

        Args:
            news: with the URLs that wait.
            now: when they answered; seconds since 1970. Answers in a pause of the host are to
                requests that were sent before it.
        """
        if not news.hides_host:
            return now + self._pauses.first * _LONGER**news.tries
        if now >= self._until:
            if self.tries >= self._pauses.most:
                return None
            self._until = now + self._pauses.first * _LONGER**self.tries
            self.tries += 1
        return self._until

    def answered(self, answer: AnsweredPage) -> None:
        """Note a page that answered 200 with text."""
        self._answers += 1
        for wall in self._walls:
            if wall.is_met(answer):
                self._meet(wall, [answer])
                return
        self._open(answer.url_id)
        self._groups.remember(answer, self._answers)
        found = self._groups.group_of(answer)
        self._run = self._run + 1 if found is self._last else 1
        self._last = found
        if found is not None:
            found.add(answer)
            self._begin(found)

    def answered_question(self, url: str, answer: AnsweredPage | None) -> bool:
        """Note the answer to a question.

        Args:
            url: that was asked.
            answer: its page; None if it has none.

        Returns:
            True if the URL is a name that was made up.
        """
        is_made_up = False
        for found in self._asked.pop(url, ()):
            for answers in (found.missing, found.again, found.other):
                if url in answers:
                    answers[url] = answer
            found.awaited.discard(url)
            is_known = url not in {*found.missing, *found.again, *found.other}
            if is_known and answer is not None:
                self._groups.remember(answer, self._answers)
            if url in found.missing:
                is_made_up = True
                if answer is None:
                    if len(self._missing) >= _FOLDERS:
                        self._missing.clear()
                    self._missing[_folder(url)] = self._answers
            if not found.awaited:
                (self._begin if is_known else self._go_on)(found)
        return is_made_up

    def _begin(self, found: Suspects) -> None:
        """Ask the first questions about suspects, if there are enough, and room for questions."""
        most = (_QUESTIONS + _SHARE * self._answers) * (3 if self._run >= _RUN else 1)
        if len(found.paths) < found.ask_at or found.awaited or self._questions >= most:
            return
        if self._run < FEWEST and len(found.paths) < _SCATTERED:
            return
        if self._groups.other_than(found) is None:
            if self._is_instead(found):
                self._stands(
                    _Wall(
                        found.first.kind, found.first.size, found.shared, _NOWHERE, hides_host=True
                    )
                )
                return
            # A site that has always shown one thing may have nothing else, unless a page is known.
            if self._known is None:
                self._known = self._read_known()
            if self._known:
                self._ask(found, [self._known.pop(0)])
            return
        own = found.shared - self._groups.elsewhere(found.first.kind)
        if len(found.first.blocks - found.shared) > max(_TOKENS, len(own)):
            return  # they share a teaser, say
        found.ask_at *= _GROWTH
        found.missing, found.other = {}, {}
        found.again = {found.first.url: None}
        name = _made_up([one.url for one in found.kept], 1)
        asked_at = self._missing.get(_folder(name))
        if asked_at is None or self._answers - asked_at > _MISSING:
            found.missing = {name: None}
        self._ask(found, [*found.missing, *found.again])

    def _go_on(self, found: Suspects) -> None:
        """Ask the further questions that the answers raise, or decide."""
        is_page = any(found.missing.values())
        if not is_page and self._is_template(found):
            self._groups.are_of_template(found)
            return
        further: list[str] = []
        if is_page and len(found.missing) == 1:
            further.append(_made_up([one.url for one in found.kept], 2))
            found.missing[further[0]] = None
        if (is_page or not found.missing or len(found.paths) >= _ENOUGH) and not found.other:
            other = self._groups.other_than(found)
            if other is not None:
                found.before, found.other = other, {other.url: None}
                further.append(other.url)
        if further:
            self._ask(found, further)
        else:
            self._judge(found)

    def _ask(self, found: Suspects, urls: list[str]) -> None:
        """Ask questions about suspects."""
        for url in urls:
            self._asked.setdefault(url, []).append(found)
        found.awaited.update(urls)
        self._questions += len(urls)
        self._news.append(WallNews(questions=tuple(urls)))

    def _judge(self, found: Suspects) -> None:
        """Decide about suspects after their questions were answered."""
        first, [again] = found.first, found.again.values()
        own = first.blocks - self._groups.elsewhere(first.kind)
        if again is not None and own and own.isdisjoint(again.blocks):
            # It stood for a time, and what it hid is asked again.
            self._groups.drop(found)
            self._news.append(WallNews(again=tuple(one.url_id for one in found.kept)))
            return
        wall = self._of_missing(found) or self._of_many(found)
        if wall is None or not self._can_tell(found):
            self._begin(found)
            return
        self._stands(wall)

    def _is_instead(self, found: Suspects) -> bool:
        """Return True if pages that an earlier run told apart are one and the same now."""
        is_same = all(one.blocks == found.first.blocks for one in found.kept)
        url_ids = [one.url_id for one in found.kept if one.url_id]
        return is_same and len(self._titles_before(url_ids)) >= FEWEST

    def _stands(self, wall: _Wall) -> None:
        """Note a wall, and the URLs that have answered with it."""
        self._walls = [*self._walls, wall][-_STANDING:]
        alike = list(self._groups.of_kind(wall.kind))
        self._meet(wall, [one for group in alike for one in group.kept if wall.is_met(one)])
        for group in alike:
            if wall.is_met(group.first):
                self._groups.drop(group)

    def _can_tell(self, found: Suspects) -> bool:
        """Return True if pages of another kind are known, or one that has lost its text.

        A server that answers all names with pages of one kind may have nothing else.
        """
        before = found.before
        if before is None or before.kind != found.first.kind:
            return True
        own = before.blocks - self._groups.elsewhere(before.kind)
        now = found.other.get(before.url)
        return bool(own) and now is not None and own.isdisjoint(now.blocks)

    @staticmethod
    def _is_template(found: Suspects) -> bool:
        """Return True if most suspects have text that the first has not, where it has its own."""
        [again] = found.again.values()
        if again is None or again.kind != found.first.kind:
            return False
        stays = found.first.blocks & again.blocks
        others = [one for one in found.kept if places(one.blocks ^ stays) - found.changing]
        return 2 * len(others) > len(found.kept)

    def _of_missing(self, found: Suspects) -> _Wall | None:
        """Return what the site answers for names that do not exist; None if that is no page."""
        pages = [answer for answer in found.missing.values() if answer is not None]
        if len(pages) < 2:  # noqa: PLR2004 - both names
            return None
        one, other = pages
        changing = found.changing if one.kind == found.first.kind else frozenset[int]()
        stays = one.blocks & other.blocks
        own = {place_of(block) for block in stays - self._groups.elsewhere(one.kind)} - changing
        # If only the frame of the site stays, what differs may be all that a page says.
        naming = places(one.blocks ^ other.blocks) if own else frozenset[int]()
        is_said = 8 * len(stays | {*naming}) >= SMALLEST
        return self._wall(found, one, stays, changing | naming) if is_said else None

    def _of_many(self, found: Suspects) -> _Wall | None:
        """Return the content of enough suspects, where another page was known to have another."""
        [again] = found.again.values()
        if again is None or again.kind != found.first.kind or not found.other:
            return None
        stays = found.first.blocks & again.blocks
        if stays <= self._groups.elsewhere(again.kind):
            return None  # only the frame of the site
        wall = self._wall(found, found.first, stays, found.changing)
        alike = {_name(one) for one in found.kept if wall.is_met(one)}
        needed = FEWEST if wall.hides_host else _ENOUGH  # it replaced a page that was known
        return wall if len(alike) >= needed else None

    @staticmethod
    def _wall(
        found: Suspects, shown: AnsweredPage, stays: Blocks, changing: frozenset[int]
    ) -> _Wall:
        """Return a wall; it hides the host if the other page shows it, too."""
        wall = _Wall(shown.kind, shown.size, stays, changing, hides_host=False)
        others = [answer for answer in found.other.values() if answer is not None]
        wall.hides_host = any(map(wall.is_met, others))
        return wall

    def _meet(self, wall: _Wall, answers: list[AnsweredPage]) -> None:
        """Note URLs that have answered with a wall."""
        met = list(dict.fromkeys(one.url_id for one in answers))
        if wall.hides_host and met:
            self._news.append(WallNews(waiting=tuple(met), hides_host=True))
        if wall.hides_host:
            return
        if wall.first is None and met:
            wall.first = met[0]
            self._news.append(WallNews(kept=wall.first))
        met = [url_id for url_id in met if url_id != wall.first]
        if not met:
            return
        if wall.scout is None:
            wall.scout = met[-1]
        waiting: tuple[int, ...] = ()
        if wall.scout in met and wall.tries < self._pauses.most:
            waiting = (wall.scout,)
        held = [url_id for url_id in met if url_id not in waiting]
        wall.held += held[: _MOST_HELD - len(wall.held)]
        self._news.append(WallNews(tuple(held), waiting, wall.tries))
        wall.tries += bool(waiting)

    def _open(self, url_id: int) -> None:
        """Note that a wall is gone, if a URL shows it: there is something else behind it."""
        for wall in [one for one in self._walls if one.hides_host or one.scout == url_id]:
            self._walls.remove(wall)
            if wall.hides_host:
                self.tries, self._until = 0, 0.0
            hidden = [] if wall.first is None else [wall.first]
            hidden += [one for one in wall.held if one != url_id]
            if hidden:
                self._news.append(WallNews(again=tuple(hidden)))


def _name(answer: AnsweredPage) -> str:
    """Return the last segment of a page's path: a file has the same in all of its revisions."""
    return path_of(answer).rpartition("/")[2]


def _folder(url: str) -> str:
    """Return the directory of a URL."""
    return url.rpartition("/")[0]


def _made_up(urls: list[str], number: int) -> str:
    """Return a URL that does not exist, beside others: in their directory, with their ending."""
    paths = [Parts.of(url).path or "/" for url in urls]
    one, other = min(paths), max(paths)
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    folder = one[: len(list(alike))].rpartition("/")[0]
    last = paths[0].rpartition("/")[2]
    ending = last[last.rfind(".") :] if "." in last else ""
    name = hashlib.blake2b(f"{number} {urls[0]}".encode(), digest_size=_NAME).hexdigest()
    parts = Parts.of(urls[0])
    return str(parts._replace(path=f"{folder}/{name}{ending}", query=None, fragment=None))

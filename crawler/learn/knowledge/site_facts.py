"""What is known of one site: what became of its URLs, and which of its pages may be the same."""

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Self

import msgspec
from msgspec import structs

from canonry.canon.learned import SESSION_SEGMENT, Rewrite, site_of
from canonry.canon.syntax import Parts, query
from canonry.crawler.content.host_text import Comparison, HostText
from canonry.crawler.content.sketch import Sketch, words_of
from canonry.crawler.learn.knowledge.canonical_links import CanonicalLinks
from canonry.crawler.learn.knowledge.form_index import FormIndex
from canonry.crawler.learn.knowledge.loose_forms import loose_name
from canonry.crawler.learn.knowledge.parameter_values import ParameterValues
from canonry.crawler.learn.knowledge.read_pages import ReadPages
from canonry.crawler.learn.knowledge.return_links import ReturnLinks
from canonry.crawler.learn.knowledge.shared_words import SharedWords
from canonry.crawler.learn.knowledge.steadiness import KindsOfPages, Steadiness

_ALIKE = 8  # pages with one body that are compared
_MOST_EQUAL = 256  # pages remembered for one body
_NAMES = 64  # of parameters
_PARAMETERS = 6  # of one URL
_SEGMENT_PARAMETER = re.compile(r";([^=;/]+)=([^;/]+)")
_TELLING = 3  # names with one body that no rule makes one: more are an error page or a form


class Fact(msgspec.Struct, frozen=True, gc=False):
    """What became of a URL: a page, a permanent redirect, or nothing there.

    There is one for every page of a host: so it takes two thirds of a tuple's room, and the garbage
    collector does not look at it.
    """

    url: str  # its identity
    at: float  # seconds since 1970
    digest: bytes = b""  # of the body, if it is a page
    sketch: bytes | None = None  # of the text, if the page has one
    target: str | None = None  # where it redirects; the end of the chain answered 200
    missing: bool = False  # it answered 404 or 410
    names: str | None = None  # what its canonical link leads to, confirmed or not

    @property
    def is_page(self) -> bool:
        """Return True if it answered 200."""
        return self.target is None and not self.missing

    @property
    def confirms_links(self) -> bool:
        """Return True if it is a page that names itself, or nothing: then links to it are right."""
        return self.is_page and self.names in {None, self.url}


class ChangedText(Enum):
    """What differs between two pages, on a site where nothing changes by itself."""

    NOTHING = auto()
    NUMBERS = auto()
    WORDS = auto()


def reference_of(facts: Iterable[Fact | None]) -> Fact | None:
    """Return the page with which the others of a class are compared: the shortest, then first."""
    pages = [fact for fact in facts if fact is not None and fact.is_page]
    return min(pages, key=lambda page: (len(page.url), page.url), default=None)


@dataclass(slots=True)
class _Body:
    """The pages that answered with one body, if there are several."""

    pages: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # each once


@dataclass(slots=True)
class SiteFacts:
    """The facts about one site.

    Attributes:
        facts: by identity.
        canonicals: the canonical links of its pages.
        text: what the site's pages have in common, and what changes by itself.
        values: of parameters in queries, by name.
        missing: the digest of the body that the site answers with for what does not exist.
        kinds: of pages: whether they change by themselves.
        return_links: parameters that name the page which a link stands on.
        read: the pages that were asked again to see whether they are others.

    Nearly all bodies and most forms belong to one page. Then its URL stands there alone, which is
    half of all memory that a page takes.
    """

    facts: dict[str, Fact] = field(default_factory=dict)
    canonicals: CanonicalLinks = field(default_factory=CanonicalLinks)
    text: HostText = field(default_factory=HostText)
    values: dict[str, ParameterValues] = field(default_factory=dict)
    missing: bytes | None = None
    kinds: KindsOfPages = field(default_factory=KindsOfPages)
    return_links: ReturnLinks = field(default_factory=ReturnLinks)
    read: ReadPages = field(default_factory=ReadPages)
    _alone: str = ""  # the page that was added last, if no other has a form or the body of it
    _forms: FormIndex = field(default_factory=FormIndex)
    _bodies: dict[bytes, str | _Body] = field(default_factory=dict)
    _words: SharedWords = field(default_factory=SharedWords)

    def add(self, fact: Fact, parts: Parts) -> tuple[str, ...]:
        """Add a fact; return the URLs about which something is known that was not known before.

        That is the fact's own URL, the earlier pages whose body turns out to be boilerplate, and
        those whose canonical links the fact confirms.
        """
        known = self.facts.get(fact.url)
        if known is not None and structs.replace(known, at=fact.at) == fact:
            return ()
        self.facts[fact.url] = fact
        if not fact.is_page:
            return (fact.url,)
        if fact.names is not None and fact.names != fact.url:
            there = self.facts.get(fact.names)
            self.canonicals.note(fact.url, fact.names)
            if there is not None and there.confirms_links:
                self.canonicals.confirm(fact.names)
        if fact.sketch is not None and (known is None or known.sketch is None):
            self.text.add(fact.sketch)
        self.kinds.of(fact.url, fact.sketch)  # the site has this kind, from now on
        named = self.canonicals.confirm(fact.url) if fact.confirms_links else ()
        return (fact.url, *self._file(fact, parts), *named)

    def only(self, kept: Container[str]) -> Self:
        """Return what stays if all other facts are forgotten.

        What the pages have in common, and which bodies are boilerplate, is remembered.

        Args:
            kept: identities.
        """
        less = replace(
            self,
            facts={url: fact for url, fact in self.facts.items() if url in kept},
            canonicals=self.canonicals.only(kept),
            _alone="",
            _forms=FormIndex(),
            _words=SharedWords(),
            _bodies={
                digest: body
                for digest, body in self._bodies.items()
                if isinstance(body, _Body) and not self.is_telling(digest)
            },
        )
        less.file_pages()
        return less

    def file_pages(self) -> None:
        """File all pages under their forms and bodies; that says nothing new of the site."""
        kinds, self.kinds = self.kinds, KindsOfPages()
        for url, fact in self.facts.items():
            if fact.is_page:
                self._file(fact, Parts.of(url))
        self.kinds = kinds

    def _file(self, fact: Fact, parts: Parts) -> tuple[str, ...]:
        """File a page under its forms and its body; return the earlier pages if it is boilerplate.

        Boilerplate is what too many resources have, from now on.
        """
        if fact.sketch is not None:
            self._words.add(words_of(fact.sketch), fact.url)
        is_alone = self._forms.add(fact.url, parts) and fact.digest not in self._bodies
        self._alone = fact.url if is_alone else ""
        return self._add_body(fact, parts.path)

    def _add_body(self, fact: Fact, path: str) -> tuple[str, ...]:
        """Remember a page by its body; return the earlier pages if it is boilerplate from now."""
        body = self._bodies.get(fact.digest)
        if body is None:
            self._bodies[fact.digest] = fact.url
            return ()
        if isinstance(body, str):
            body = self._bodies[fact.digest] = _Body((body,), (loose_name(Parts.of(body).path),))
        if len(body.names) > _TELLING:
            return ()
        if (name := loose_name(path)) not in body.names:
            body.names += (name,)
        if len(body.names) > _TELLING:
            earlier, body.pages = body.pages, ()
            return earlier
        if body.pages:
            self.kinds.of(fact.url, fact.sketch).add_equal()
        if len(body.pages) < _MOST_EQUAL:
            body.pages += (fact.url,)
        return ()

    def fresh_parameters(self, parts: Parts) -> Iterator[Rewrite]:
        """Note the values of a page's parameters; yield rules for those that look like sessions.

        The shape proves nothing, but such a parameter is worth a question early.
        """
        if not parts.query and ";" not in parts.path and "/(" not in parts.path:
            return
        fields = query.fields(parts.query) if parts.query else []
        names = sorted({query.name(field) for field in fields})
        for field_ in fields[:_PARAMETERS]:
            name, _, value = field_.partition("=")
            values = self.values.get(name)
            if values is None:
                if len(self.values) >= _NAMES:
                    continue
                values = self.values[name] = ParameterValues()
            values.add(value, hash(parts))
            if values.look_like_sessions():
                beside = tuple(other for other in names if other != name)
                yield Rewrite(site_of(parts), "parameter-irrelevant", old=name, beside=beside)
        if (segment := SESSION_SEGMENT.search(parts.path)) is not None:
            values = self.values.setdefault("/(", ParameterValues())
            values.add(segment[0], hash(parts))
            if values.look_like_sessions():
                yield Rewrite(site_of(parts), "session-segment")
        for name, value in _SEGMENT_PARAMETER.findall(parts.path)[:_PARAMETERS]:
            values = self.values.setdefault(f";{name}", ParameterValues())
            values.add(value, hash(parts))
            if values.look_like_sessions():
                yield Rewrite(site_of(parts), "path-parameter", old=name)

    def alike(self, fact: Fact, parts: Parts) -> Iterator[str]:
        """Yield other pages that one or a few rewrites could make equal to a page."""
        if fact.url == self._alone:
            return
        near = dict.fromkeys(self._forms.near(parts))
        near.pop(fact.url, None)
        yield from near
        for url in dict.fromkeys(self._further(fact, parts)):
            # Another page under many forms is compared once.
            if url not in near and url != fact.url and self.may_be_same(fact, self.facts[url]):
                yield url

    def across(self, url: str, parts: Parts) -> Iterable[str]:
        """Return pages that have some of the parameters of a page, which was added last."""
        found = () if url == self._alone else self._forms.across(parts)
        return dict.fromkeys(found)

    def _further(self, fact: Fact, parts: Parts) -> Iterator[str]:
        """Yield pages that are not near a page, and are worth a look if their content is."""
        yield from self._forms.apart(parts)
        yield from self._forms.elsewhere(parts)
        if (body := self._bodies.get(fact.digest)) is not None and self.is_telling(fact.digest):
            yield from (body,) if isinstance(body, str) else body.pages[:_ALIKE]

    def may_be_same(self, one: Fact, other: Fact) -> bool:
        """Return True if two pages have the same content, or if more answers have to tell."""
        if not other.is_page:
            return False
        found = self.compare(one, other)
        return found.same or (found.same is None and found.in_doubt)

    def is_telling(self, digest: bytes) -> bool:
        """Return True if an equal body is evidence: it is neither a form nor an error page."""
        body = self._bodies.get(digest)
        several = isinstance(body, _Body) and len(body.names) > _TELLING
        return digest != self.missing and not several

    def kind_of(self, fact: Fact) -> Steadiness | None:
        """Return whether pages of the kind of a page change by themselves; None if it is none."""
        return self.kinds.of(fact.url, fact.sketch) if fact.is_page else None

    def are_others(self, one: Fact, other: Fact) -> bool:
        """Return True if the content of two pages clearly differs."""
        if one.sketch is None or other.sketch is None:
            return self.is_same(one, other) is False
        return one.digest != other.digest and self.text.are_others(
            Sketch.decode(one.sketch), Sketch.decode(other.sketch), (one.url, other.url)
        )

    def changed(self, one: Fact, other: Fact) -> ChangedText:
        """Return what differs between two pages; nothing if that may change by itself."""
        if one.sketch is None or other.sketch is None or one.digest == other.digest:
            return ChangedText.NOTHING
        here, there = Sketch.decode(one.sketch), Sketch.decode(other.sketch)
        if _words(here) == _words(there) or not self._show_others(one, other):
            return ChangedText.NOTHING
        return ChangedText.NUMBERS if here.text == there.text else ChangedText.WORDS

    def is_same(self, one: Fact, other: Fact) -> bool | None:
        """Return True if two pages have the same content, None if that cannot be known."""
        return self.compare(one, other).same

    def compare(self, one: Fact, other: Fact) -> Comparison:
        """Compare the content of two pages."""
        if one.digest == other.digest:
            return Comparison(True if self.is_telling(one.digest) else None)
        if one.sketch is None or other.sketch is None:
            # Neither is text; or one was fetched before sketches were kept.
            return Comparison(False if self._are_other_files(one, other) else None)
        return self._compare_texts(one, one.sketch, other, other.sketch)

    def _are_other_files(self, one: Fact, other: Fact) -> bool:
        """Return True if two pages are not text, and nothing of their kind changes by itself.

        Where something does, nobody knows whether they differ in anything else.
        """
        comparable = one.sketch is other.sketch is None
        if not comparable or self.missing in {one.digest, other.digest}:
            return False
        return not any(self.kinds.of(page.url, None).varied for page in (one, other))

    def _compare_texts(self, one: Fact, its: bytes, other: Fact, theirs: bytes) -> Comparison:
        """Compare two pages of text by their sketches."""
        if words_of(its) == words_of(theirs) and self._is_widespread(its):
            return Comparison(None)
        here, there = Sketch.decode(its), Sketch.decode(theirs)
        found = self.text.compare(here, there, (one.url, other.url))
        if found.same and self.apart(one.url, other.url):
            return found._replace(same=None, in_doubt=True, apart=True)
        if found.same is not None:
            return found
        # Other words, or numbers, are another page, too, if its own are too few for a comparison.
        may_be_other = found.in_doubt or _words(here) != _words(there)
        if may_be_other and self._show_others(one, other):
            return Comparison(same=False)
        return found._replace(apart=self.apart(one.url, other.url))

    def _is_widespread(self, sketch: bytes) -> bool:
        """Return True if pages of several names say what a page does, but for what changes."""
        urls = self._words.pages(words_of(sketch))
        if len(urls) <= _TELLING:
            return False
        known = (fact.sketch for url in urls if (fact := self.facts.get(url)) is not None)
        page = Sketch.decode(sketch)
        same = sum(self.text.numbers_agree(page, Sketch.decode(one)) for one in known if one)
        return same > _TELLING

    def are_alike(self, one: Fact, other: Fact) -> bool:
        """Return True if two pages share at least half of what is their own, numbers apart."""
        if one.sketch is None or other.sketch is None or one.digest == other.digest:
            return False
        return self.text.are_alike(Sketch.decode(one.sketch), Sketch.decode(other.sketch))

    def apart(self, one: str, other: str) -> bool | None:
        """Return whether two pages that were read are others; None if that is not known yet."""
        return self.read.are_others(one, other, self.text)

    def _show_others(self, one: Fact, other: Fact) -> bool:
        """Return True if pages of one kind are others if they differ: so many are the same."""
        kind = self.kinds.of(one.url, one.sketch)
        return kind.shows_others and kind is self.kinds.of(other.url, other.sketch)


def _words(page: Sketch) -> tuple[int, bytes]:
    """Return what tells whether any word or number of two pages differs."""
    return page.text, page.numbers

"""The index of forms: which pages of a site are worth comparing with one of its pages."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from canonry.canon.syntax import Parts, query
from canonry.crawler.learn.knowledge.loose_forms import loose_base, loose_forms

_ALIKE = 8  # pages remembered for one form
_SMALL_INT = 2**60 - 1  # up to here an integer takes 32 bytes; above, 48
_NOTHING: dict[int, str] = {}
_MORE = "more than"  # a form, with it: under which pages are filed that have more parameters


@dataclass(slots=True)
class FormIndex:
    """The pages of a site by the hashes of their forms. Most forms belong to one page alone.

    Under a form that leaves out a parameter, all pages that differ in nothing but its value show
    the same of another page: that the parameter selects nothing. So one of them is enough.
    """

    _urls: dict[int, str | tuple[str, ...]] = field(default_factory=dict)
    _last: "tuple[Parts, _Forms] | None" = None  # the page that was filed or looked for last

    def add(self, url: str, parts: Parts) -> bool:
        """File a page under its forms; return True if it is the only one under all of them."""
        base = None if parts.query else loose_base(parts)
        if base is not None:  # as in what follows: most pages have no query
            is_alone = _hash((_MORE, base)) not in self._urls
            return self._file(url, (_hash(base), _file_of(parts)), _NOTHING) and is_alone
        forms = self._forms_of(parts)
        is_alone = self._urls.keys().isdisjoint(forms.apart)
        return self._file(url, forms.filed, forms.left_out) and is_alone

    def _file(self, url: str, forms: tuple[int, ...], left_out: dict[int, str]) -> bool:
        """File a page under some forms; return True if it is the only one under them."""
        urls, is_alone = self._urls, True
        for form in forms:
            there = urls.setdefault(form, url)
            if there is url:
                continue
            is_alone = False
            several = _as_tuple(there)
            if len(several) >= _ALIKE or url in several:
                continue
            name = left_out.get(form)
            if name is None or not any(_differ_only_in(name, url, other) for other in several):
                urls[form] = (*several, url)
        return is_alone

    def near(self, parts: Parts) -> Iterator[str]:
        """Yield pages that one rewrite could make equal to a page, or a few."""
        for form in self._forms_of(parts).near:
            yield from self._under(form)

    def apart(self, parts: Parts) -> Iterator[str]:
        """Yield pages that have several parameters less than a page, or more."""
        for form, fields in self._forms_of(parts).apart.items():
            for url in self._under(form):
                if fields is None or fields == _number_of_fields(url):
                    yield url

    def across(self, parts: Parts) -> Iterator[str]:
        """Yield pages with several parameters, of which a page has one, too, or of its path.

        Where there are many, what they have in common does not tell what they are.
        """
        for form in self._forms_of(parts).more:
            several = self._under(form)
            if len(several) < _ALIKE:
                yield from several

    def elsewhere(self, parts: Parts) -> tuple[str, ...]:
        """Return pages that have the name of a page, in other directories."""
        return self._under(self._forms_of(parts).file)

    def _forms_of(self, parts: Parts) -> "_Forms":
        """Return the hashes of a page's forms."""
        last = self._last
        if last is None or last[0] is not parts:  # it is looked for right after it was filed
            last = self._last = parts, _forms_of(parts)
        return last[1]

    def _under(self, form: int) -> tuple[str, ...]:
        return _as_tuple(self._urls.get(form, ()))


class _Forms(NamedTuple):
    """The hashes of a page's forms.

    Attributes:
        near: loose forms, each of which it has in common with pages that are near.
        apart: of pages with several parameters less, with the number of fields of their queries;
            and of those with more.
        file: of pages with its name.
        filed: under which others find the page.
        left_out: the parameters that some of these leave out.
        more: those of them that pages with several parameters have in common.
    """

    near: tuple[int, ...]
    apart: dict[int, int | None]
    file: int
    filed: tuple[int, ...]
    left_out: dict[int, str]
    more: tuple[int, ...] = ()


def _forms_of(parts: Parts) -> _Forms:
    """Return the hashes of a page's forms."""
    file = _file_of(parts)
    loose, left_out_names, less = loose_forms(parts)
    near = tuple([hash(form) & _SMALL_INT for form in loose])
    apart: dict[int, int | None] = {_hash((_MORE, form)): None for form in loose[:1]}
    if not left_out_names:
        return _Forms(near, apart, file, (*near, file), _NOTHING)
    left_out = dict(zip(near[1:], left_out_names, strict=True))
    if not less:
        return _Forms(near, apart, file, (*near, file), left_out)
    apart |= {_hash(form): _number_of_fields(form) for form in less}
    more = tuple([_hash((_MORE, form)) for form in less])
    return _Forms(near, apart, file, (*near, file, *more), left_out, more)


def _file_of(parts: Parts) -> int:
    """Return the hash of a page's name, with its query."""
    path = parts.path
    return _hash((path[path.rfind("/", 0, -1) :], parts.query))


def _differ_only_in(name: str, one: str, other: str) -> bool:
    """Return True if two URLs differ in nothing but the values of a parameter that both have."""
    start, _, here = one.partition("?")
    begin, _, there = other.partition("?")
    names = query.names(here)
    if start != begin or names != query.names(there) or "#" in here or "#" in there:
        return False
    fields = zip(names, query.fields(here), query.fields(there), strict=True)
    return all(its == name or field == same for its, field, same in fields)


def _number_of_fields(url: str) -> int:
    """Return how many fields the query of a URL has, or of a form."""
    return url.count("&") + 1 if "?" in url else 0


def _hash(form: object) -> int:
    return hash(form) & _SMALL_INT


def _as_tuple(urls: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return what is remembered of a form as several URLs."""
    return (urls,) if isinstance(urls, str) else urls

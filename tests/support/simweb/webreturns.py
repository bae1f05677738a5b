"""Hosts whose pages link a form to log in, which says where to return to: one page, many names."""

import random
from urllib.parse import quote, urlsplit

from support.simweb.websites import NOTHING, SECTIONS, Found, Site, When
from support.simweb.webtexts import Frame, number_of, own_text, rare_words

KIND = "return links"
_RELATED = 3  # links of a page to others, besides that to log in


def returning(name: str, size: int, *, dynamic: bool) -> Site:
    """Return a site whose pages each link ``/login?next=`` with their own path.

    Args:
        name: its registrable domain.
        size: the number of its pages, without the form.
        dynamic: True if no two answers are alike.
    """
    rng = random.Random(number_of(KIND, name))
    home = f"http://www.{name}/"
    field = rng.choice(("next", "return_to", "redirect", "back_url"))
    whole = rng.random() < 0.5  # the value is a URL, not a path
    pages = [
        home + f"{rng.choice(SECTIONS)}/{'-'.join(rare_words(rng, 2))}-{n}" for n in range(size)
    ]
    form = f"{home}login"

    def to_log_in(page: str) -> str:
        value = page if whole else urlsplit(page).path
        return f"{form}?{field}={quote(value, safe='')}"

    links = {page: (*rng.sample(pages, _RELATED), to_log_in(page)) for page in pages}
    links[home] = (*pages, to_log_in(home))

    def resolve(url: str, _when: When) -> Found:
        page = form if url.startswith(f"{form}?") else url
        if page != form and page not in links:
            return NOTHING
        return Found(page, own_text(home, page)._replace(links=links.get(page, ())))

    names = [*pages, *map(to_log_in, (home, *pages))]
    return Site(KIND, home, resolve, names, Frame(name, dynamic=dynamic))

"""Sections: which pages of a site are likely made in the same way, by their URLs alone. Pure."""

from functools import lru_cache


@lru_cache(maxsize=4096)  # a page is compared more than once
def section_of(url: str) -> str:
    """Return the section of its site in which a page lies.

    Pages of one section lie in one first directory, and as deep in it: a shop's goods in
    ``/catalogue/lamp-7/``, its lists in ``/catalogue/category/lamps/``.

    Args:
        url: the page's identity.
    """
    segments = [one for one in url.partition("?")[0].split("/")[3:] if one]
    return f"{segments[0] if len(segments) > 1 else ''}/{len(segments)}"

"""A crawler of a hundred lines, with lxml and the standard library: what a site has, found anew."""

import re
from collections.abc import Iterable, Iterator
from http.client import HTTPConnection
from urllib.parse import quote, urldefrag, urljoin, urlsplit

from lxml import etree, html

AGENT = "follower/1"
_XML = {"application/xhtml+xml", "application/xml", "text/xml"}
_LINKS = {"a": "href", "area": "href", "iframe": "src", "frame": "src", "form": "action"}
_REFRESH = re.compile(r"\s*[\d.]+\s*[;,]\s*url\s*=\s*['\"]?([^'\"]+)", re.IGNORECASE)
_KEPT = "!#$%&'()*+,-./:;=?@[]_~"  # of a URL, besides letters and digits


def follow(seeds: Iterable[str], port: int) -> dict[str, int]:
    """Request seeds from a server on loopback, and all that links of their hosts lead to.

    Returns:
        The status of each URL.
    """
    waiting = list(seeds)
    hosts = {urlsplit(seed).netloc for seed in waiting}
    status: dict[str, int] = {}
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    while waiting:
        url = waiting.pop()
        if url in status:
            continue
        parts = urlsplit(url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        headers = {"Host": parts.netloc, "User-Agent": AGENT}
        connection.request("GET", target, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        status[url] = answer.status
        location = answer.headers["Location"]
        kind = answer.headers.get_content_type()
        found = [location] if location else links(body, kind) if answer.status == 200 else []
        for link in found:
            target = normal(url, link)
            if target is not None and urlsplit(target).netloc in hosts and target not in status:
                waiting.append(target)
    return status


def normal(base: str, link: str) -> str | None:
    """Return the URL that a link leads to; None where it leads to nothing on the web."""
    try:
        url = urldefrag(urljoin(base, re.sub(r"[\t\r\n]", "", link).strip())).url
        parts = urlsplit(url)
    except ValueError:
        return None
    if parts.scheme != "http" or not parts.netloc:
        return None
    return parts._replace(
        path=quote(parts.path or "/", safe=_KEPT), query=quote(parts.query, safe=_KEPT)
    ).geturl()


def links(body: bytes, kind: str) -> Iterator[str]:
    """Yield the links of a page, each resolved against its ``base``, if it has one."""
    root = _parsed(body, kind)
    base = ""
    for element in root.iter() if root is not None else ():
        if not isinstance(element.tag, str):
            continue
        name = etree.QName(element).localname.lower()
        given = {key.lower(): value for key, value in element.attrib.items()}
        if name == "base" and not base:
            base = given.get("href", "")
        link = _link(name, given)
        if link is not None:
            yield urljoin(base, link) if base else link


def _parsed(body: bytes, kind: str) -> etree._Element | None:
    """Return the tree of a page; XML that is not well-formed is read as HTML."""
    if kind in _XML:
        parser = etree.XMLParser(no_network=True, resolve_entities=False, huge_tree=True)
        try:
            return etree.fromstring(body, parser)
        except etree.XMLSyntaxError:
            pass
    elif kind != "text/html":
        return None
    return html.document_fromstring(body) if body.strip() else None


def _link(name: str, given: dict[str, str]) -> str | None:
    """Return the link of one element."""
    if "nofollow" in given.get("rel", "").lower().split():
        return None
    if name == "link":
        return given.get("href") if {"next", "prev", "alternate"} & _words(given, "rel") else None
    if name == "meta" and "refresh" in _words(given, "http-equiv"):
        found = _REFRESH.match(given.get("content", ""))
        return found[1].strip() if found else None
    if name == "form" and given.get("method", "get").lower() != "get":
        return None
    return given.get(_LINKS.get(name, ""))


def _words(given: dict[str, str], name: str) -> set[str]:
    """Return the words of an attribute."""
    return set(given.get(name, "").lower().split())

"""Tails: URLs as the table keeps them, without the name that their host's row has."""

from collections.abc import Iterable, Sequence


def tails_of(urls: Sequence[str], hosts: Sequence[str]) -> list[str]:
    """Return what the table keeps of URLs; the view ``urls`` puts them together again.

    Args:
        urls: texts that do not begin with a slash, or with a colon and a slash.
        hosts: for each the name that its host's row has.
    """
    starts = {host: (f"https://{host}", f"http://{host}") for host in set(hosts)}
    return [
        tail
        if (tail := url.removeprefix(https))[:1] == "/"
        else f":{tail}"
        if (tail := url.removeprefix(http))[:1] == "/"
        else url
        for url, (https, http) in zip(urls, map(starts.__getitem__, hosts), strict=True)
    ]


def tail_of(url: str, host: str) -> str:
    """Return what the table keeps of one URL."""
    return tails_of((url,), (host,))[0]


def urls_of(tails: Iterable[str], host: str) -> list[str]:
    """Return the URLs of which the table keeps some tails, all of one host.

    The view does the same in twice the time: it looks up the host for each URL.
    """
    https, http = f"https://{host}", f"http://{host}"
    return [
        https + tail if tail[:1] == "/" else http + tail[1:] if tail[:2] == ":/" else tail
        for tail in tails
    ]

"""Tails: how the table keeps URLs without what their host's row says already."""

from collections.abc import Sequence

_HTTPS, _HTTP = len("https://"), len("http://")


def tails_of(urls: Sequence[str], hosts: Sequence[str]) -> list[str]:
    """Return what the table keeps of URLs; the view ``urls`` puts them together again.

    Args:
        urls: texts that do not begin with a slash, or with a colon and a slash.
        hosts: for each the name that its host's row has.
    """
    starts = {  # of the URLs that lose their start, and how much that is
        host: (f"https://{host}/", _HTTPS + len(host), f"http://{host}/", _HTTP + len(host))
        for host in set(hosts)
    }
    return [
        url[secure:]
        if url.startswith(https)
        else f":{url[plain:]}"
        if url.startswith(http)
        else url
        for url, (https, secure, http, plain) in zip(
            urls, map(starts.__getitem__, hosts), strict=True
        )
    ]


def tail_of(url: str, host: str) -> str:
    """Return what the table keeps of one URL."""
    return tails_of((url,), (host,))[0]

"""Suffixes: URLs as the table keeps them, without the name that their host's row has."""

from collections.abc import Iterable, Sequence


def suffixes_of(urls: Sequence[str], hosts: Sequence[str]) -> list[str]:
    """Return what the table keeps of URLs; the view ``urls`` puts them together again.

    Args:
        urls: texts that do not begin with a slash, or with a colon and a slash.
        hosts: for each the name that its host's row has.
    """
    starts = {host: (f"https://{host}", f"http://{host}") for host in set(hosts)}
    return [
        suffix
        if (suffix := url.removeprefix(https))[:1] == "/"
        else f":{suffix}"
        if (suffix := url.removeprefix(http))[:1] == "/"
        else url
        for url, (https, http) in zip(urls, map(starts.__getitem__, hosts), strict=True)
    ]


def suffix_of(url: str, host: str) -> str:
    """Return what the table keeps of one URL."""
    return suffixes_of((url,), (host,))[0]


def urls_of(suffixes: Iterable[str], host: str) -> list[str]:
    """Return the URLs of which the table keeps some suffixes, all of one host.

    The view does the same in twice the time: it looks up the host for each URL.
    """
    https, http = f"https://{host}", f"http://{host}"
    return [
        https + suffix if suffix[:1] == "/" else http + suffix[1:] if suffix[:2] == ":/" else suffix
        for suffix in suffixes
    ]

"""Print the first URL of each resource, and for the others which rules made them one.

Output:
    first   http://shop.example/p?id=1
    known   http://Shop.Example:80/p?id=1#reviews    (host-case + default-port + fragment)
    known   http://shop.example/p?utm_source=m&id=1  (tracking)
    first   http://shop.example/p?id=2
    refused http://[shop                             (HOST)
"""

import canonry

URLS = (
    "http://shop.example/p?id=1",
    "http://Shop.Example:80/p?id=1#reviews",
    "http://shop.example/p?utm_source=m&id=1",
    "http://shop.example/p?id=2",
    "http://[shop",
)


def main() -> None:
    """Keep one set of keys: 16 bytes for each resource, whatever the length of its URL."""
    canonicalize = canonry.Canonicalizer("web")
    seen = set()
    for url, found in zip(URLS, canonicalize.many(URLS), strict=True):
        if isinstance(found, canonry.Refused):
            print(f"refused {url:<40} ({found.reason.name})")
        elif found.key in seen:
            rules = " + ".join(step.name for step in canonicalize.explain(url).steps)
            print(f"known   {url:<40} ({rules})")
        else:
            seen.add(found.key)
            print(f"first   {url}")


if __name__ == "__main__":
    main()

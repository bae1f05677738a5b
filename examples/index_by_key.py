"""Keep documents by the key of their URL, so that no resource is there twice.

Output:
    2 documents
    http://news.example/a: second version
    http://news.example/b: another page
"""

import sqlite3

import canonry

CRAWLED = (
    ("http://news.example/a", "first version"),
    ("http://news.example/b", "another page"),
    ("http://NEWS.example/a?utm_campaign=mail#top", "second version"),
)


def main() -> None:
    """Use the key as it is: 16 bytes, in which the policy and its version have a part."""
    table = sqlite3.connect(":memory:")
    table.execute("CREATE TABLE document (key BLOB PRIMARY KEY, url TEXT, body TEXT) WITHOUT ROWID")
    canonicalize = canonry.Canonicalizer("web")
    for url, body in CRAWLED:
        found = canonicalize(url)
        table.execute(
            "INSERT INTO document VALUES (?, ?, ?)"
            " ON CONFLICT (key) DO UPDATE SET body = excluded.body",
            (found.key, found.identity, body),
        )
    [count] = table.execute("SELECT count(*) FROM document").fetchone()
    print(f"{count} documents")
    for url, body in table.execute("SELECT url, body FROM document ORDER BY url"):
        print(f"{url}: {body}")
    table.close()


if __name__ == "__main__":
    main()

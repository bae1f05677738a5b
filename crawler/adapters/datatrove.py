"""datatrove: an exact dedup that compares documents by the keys of their URLs."""

from collections.abc import Callable

from datatrove.data import Document

from canonry.canon import Canonicalizer, InvalidURL, Policy, RuleSet


def url_key(
    policy: str | Policy = "web", rules: RuleSet | str | None = None, field: str = "url"
) -> Callable[[Document], bytes]:
    """Return a function for ``ExactDedupConfig(content_getter=…)``.

    The key of a URL that we refuse is its own text, so it is equal to no other URL. A document
    without a URL is equal to no other document: its key is its id.

    Args:
        policy: which rules make the identity.
        rules: learned rules, or the text of their file.
        field: the name of the URL in the document's metadata.
    """
    make = Canonicalizer(policy, rules)

    def content(document: Document) -> bytes:
        url = document.metadata.get(field)
        if not isinstance(url, str) or not url:
            return b"document " + str(document.id).encode("utf-8", "surrogatepass")
        try:
            return make(url).key
        except InvalidURL:
            return b"refused " + url.encode("utf-8", "surrogatepass")

    return content

"""Media types: names, globs, and what is let in."""

import pytest

from canonry.crawler.settings import SettingsError, load
from canonry.crawler.settings.url_patterns import MediaTypes


@pytest.mark.parametrize(
    ("wanted", "inside", "outside"),
    [
        (["html"], "text/html", "text/plain"),
        (["HTML"], "application/xhtml+xml; charset=x", "application/xml"),
        (["text/*"], "TEXT/Plain;charset=utf-8", "application/text"),
        (["xml"], "application/rss+xml", "text/html"),
        (["pdf, text/css", "image"], "text/css", "text/csv"),
        (["pdf", "image"], "image/webp", "application/pdfx"),
        (["application/x-tar"], " application/x-tar ", "application/x-targz"),
        ([], "anything", None),
    ],
)
def test_what_is_let_in(wanted: list[str], inside: str, outside: str | None) -> None:
    found = MediaTypes(wanted)
    assert inside in found
    assert outside is None or outside not in found
    assert None in found
    assert "" in found


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("htm", '"htm" is no type (did you mean html?); allowed are types such as text/html'),
        ("text/", '"text/" is no type'),
        ("a/b/c", "and the names html, xml"),
    ],
)
def test_other_words_are_refused(given: str, says: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(None, {"fetch": {"only_types": ["html", given]}})
    assert str(caught.value).startswith("--only-types: only_types in [fetch]: ")
    assert says in str(caught.value)

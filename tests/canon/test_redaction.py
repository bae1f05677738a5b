"""Texts for people show no password, and nothing else of them is hidden."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tables import each

from canonry.canon import InvalidURL, Reason, canonicalize, redact
from canonry.canon.redaction import redact_all, redact_message, redact_refused

SECRET = "s3cret"  # noqa: S105 - what has to disappear


@each(
    ("url", "shown"),
    [
        (f"http://u:{SECRET}@h/", "http://u:***@h/"),
        (f"http://u:{SECRET}@x@h/", "http://u:***@h/"),
        (f"http:\\\\u:{SECRET}@h/", "http:\\\\u:***@h/"),
        (f"http:/u:{SECRET}@h/", "http:/u:***@h/"),
        (f"http:u:{SECRET}@h/", "http:u:***@h/"),
        (f"  https://u:{SECRET}@h/", "  https://u:***@h/"),
        (f"ht\ntp://u:{SECRET}@h/", "http://u:***@h/"),
        (f"//u:{SECRET}@h/", "//u:***@h/"),
        (f"\\/u:{SECRET}@h/", "\\/u:***@h/"),
        (f"x://u:{SECRET}@h/", "x://u:***@h/"),
        ("https://h/a:b@c", "https://h/a:b@c"),
        ("https://h:80/?a:b@c", "https://h:80/?a:b@c"),
        ("mailto:a@b", "mailto:a@b"),
        ("http://u@h:80/", "http://u@h:80/"),
        ("x:u:p@h", "x:u:p@h"),
    ],
)
def test_a_url_loses_its_password_as_browsers_would_read_it(url: str, shown: str) -> None:
    assert redact(url) == shown


@pytest.mark.parametrize(
    "url",
    [
        f"http://u:{SECRET}@ho st/",
        f"http://u:{SECRET}/x@host/",
        f"http://u:x {SECRET}@host:99999999/",
        f"http://u:{SECRET}@[::1/",
        f"http:\\\\u:{SECRET}@ho st/",
        f"http:u:{SECRET}@ho st/",
        f"u:{SECRET}@host",
    ],
)
def test_a_refused_text_shows_no_password(url: str) -> None:
    assert SECRET not in redact_refused(url)[0]
    assert SECRET not in str(InvalidURL(Reason.HOST, url, 9))


def test_the_caret_stays_under_the_fault() -> None:
    url = f"http://user:{SECRET}@ho st/"
    with pytest.raises(InvalidURL) as raised:
        canonicalize(url)
    _, shown, caret = str(raised.value).splitlines()
    assert shown == "  http://user:***@ho st/"
    assert shown[caret.index("^") :] == url[raised.value.position :]


@given(st.text(alphabet="a:/@ \\?#[.", max_size=30), st.integers(0, 30))
def test_a_position_stays_at_its_character(text: str, position: int) -> None:
    position = min(position, len(text))
    shown, moved = redact_refused(text, position)
    places = {shown[:moved] == text[:position], shown[moved:] == text[position:]}
    assert True in places or shown[moved : moved + 3] == "***"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (f"see 'http://u:{SECRET}@h/x', a:b@c", "see 'http://u:***@h/x', a:b@c"),
        ("https://h:80/a@b and //h/x:y@z", "https://h:80/a@b and //h/x:y@z"),
        (f"postgresql+psycopg://u:{SECRET}/x@h/db", "postgresql+psycopg://u:***@h/db"),
        (f"store postgresql://u:my {SECRET}@h/db: x", "store postgresql://u:***@h/db: x"),
        (f"postgresql://h/db?password={SECRET}&a=b", "postgresql://h/db?password=***&a=b"),
        (f"host=h sslpassword='{SECRET} x' port=1", "host=h sslpassword=*** port=1"),
        (f"PGPASSWORD = {SECRET}; x", "PGPASSWORD = ***; x"),
    ],
)
def test_a_message_loses_the_passwords_of_its_urls(message: str, shown: str) -> None:
    assert redact_message(message) == shown


def test_data_loses_the_passwords_of_its_texts() -> None:
    url, shown = f"http://u:{SECRET}@h", "http://u:***@h"
    assert redact_all({"a": [url, 1, None], "b": (url,)}) == {"a": [shown, 1, None], "b": [shown]}


@pytest.mark.parametrize("text", ["//a:", "x://a:", "http://a:", "password", "a.", " ", "a"])
def test_hostile_texts_take_linear_time(text: str) -> None:
    start = time.process_time()
    redact_message(text * 20_000)
    redact(text * 20_000 + "@")
    redact_refused(text * 20_000)
    assert time.process_time() - start < 5

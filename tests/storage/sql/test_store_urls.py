"""What names a store: URLs of two databases, and paths."""

from pathlib import Path

import pytest
from support.tables import each

from canonry.storage import StoreURLError
from canonry.storage.sql.engine import read_url, without_password


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("canonry.db", "sqlite:///canonry.db"),
        ("./store", "sqlite:///./store"),
        ("/data/x y.db", "sqlite:////data/x y.db"),
        ("sqlite:///x.db", "sqlite:///x.db"),
        ("sqlite+pysqlite:///x.db", "sqlite:///x.db"),
        ("sqlite:///file:x.db?mode=ro&uri=true", "sqlite:///file%3Ax.db?mode=ro&uri=true"),
        ("postgresql://u:p@h:5432/x", "postgresql+psycopg://u:***@h:5432/x"),
        ("postgres://h/x", "postgresql+psycopg://h/x"),
        ("postgresql+psycopg:///x?host=/run", "postgresql+psycopg:///x?host=%2Frun"),
    ],
)
def test_urls_and_paths_are_read(given: str, read: str) -> None:
    assert read_url(given).render_as_string().replace("%20", " ") == read


@each(
    ("given", "said"),
    [
        ("", "it is no URL of a database"),
        ("nonsense", "it is no URL of a database"),
        ("sqlite:x.db", "it is no URL of a database"),
        ("postgresql://h:abc/x", "its port is not a number"),
        ("postgresql://h:99999/x", "its port is not between 1 and 65535"),
        ("postgresql://h:0/x", "its port is not between 1 and 65535"),
        ("mysql://h/x", "stores are kept in SQLite or PostgreSQL"),
        ("postgresql+asyncpg://h/x", "stores are kept in SQLite or PostgreSQL"),
        ("sqlite+aiosqlite:///x.db", "stores are kept in SQLite or PostgreSQL"),
        ("sqlite://x/y.db", "three slashes go before the path of a file"),
        ("sqlite://", "it names no file"),
        ("sqlite:///:memory:", "it names no file"),
        ("sqlite:///x.db?mode=ro", "parameters need uri=true"),
    ],
)
def test_what_names_no_store_gets_a_message(given: str, said: str) -> None:
    with pytest.raises(StoreURLError) as caught:
        read_url(given)
    assert str(caught.value).startswith(f"store {given}: {said}; give a file with an ending")


@each("secret", ["s3cret", "my s3cret", "a/s3cret b", "a@s3cret", "s3cret @ b"])
@each("rest", ["h/x", "h:abc/x", "h:5432/x?sslmode=require"])
def test_a_password_of_any_characters_is_hidden(secret: str, rest: str) -> None:
    """Where the URL is shown as it was given, and in the error for one that names no store."""
    given = f"postgresql://u:{secret}@{rest}"
    assert "cret" not in without_password(given)
    if "@" in secret or "abc" in rest:
        with pytest.raises(StoreURLError, match=r"^(?!.*cret)store postgresql://u:\*\*\*@h"):
            read_url(given)
    else:
        assert "cret" not in without_password(read_url(given))


def test_a_word_is_a_path_if_there_is_such_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store").touch()
    monkeypatch.chdir(tmp_path)
    assert read_url("store").database == "store"


def test_a_url_is_shown_as_it_was_given() -> None:
    assert without_password(read_url("postgresql://u:secret@h/x")) == "postgresql://u:***@h/x"
    assert without_password(read_url("x/y.db")) == "sqlite:///x/y.db"

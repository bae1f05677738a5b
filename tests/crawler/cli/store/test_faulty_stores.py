"""Faulty stores: every command says what is wrong and what to do, and none prints a traceback."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import Engine, event
from support.crawls import SEED, crawl, page, target_of
from support.permissions import as_a_plain_user
from support.servers import Answer, ok

from canonry.crawler.cli.commands import main
from canonry.storage import StoreError
from canonry.storage.reading import report

READERS = (
    "status",
    "status --json",
    "export pages",
    "export urls",
    "export aliases",
    "export rules",
    "export refused",
    f"why {SEED}",
    f"explain {SEED}",
    f"canon {SEED}",
    "rules list",
    "rules export",
)
WRITERS = (
    "rules revoke 0123456789",
    "rules reinstate 0123456789",
    "upgrade --policy search",
    "rules import rules.json",
    "dedup urls.txt -o keep.txt",
    f"crawl {SEED}",
)
RULES = '{"format": "canonry-rules", "version": 1, "policy": "web/1", "rules": []}'


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Crawl a small site once; return the bytes of its store."""
    folder = tmp_path_factory.mktemp("whole")

    def answer(head: bytes) -> Answer:
        if target_of(head) == "/robots.txt":
            return ok(b"", status="404 Not Found")
        number = int(target_of(head).strip("/") or 0)
        return page(*(f"/{number * 3 + n}" for n in range(1, 4) if number * 3 + n < 40))

    crawl(folder, answer)
    return (folder / "store.db").read_bytes()


@pytest.fixture
def store(tmp_path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a store in a folder of its own, which is the working directory."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "store.db").write_bytes(whole)
    (folder / "urls.txt").write_text("http://x.example/1\n")
    (folder / "rules.json").write_text(RULES)
    monkeypatch.chdir(folder)
    yield folder / "store.db"
    folder.chmod(0o755)


def run(command: str, store: str = "store.db") -> Result:
    """Run a command on a store, inside this process."""
    return CliRunner().invoke(main, [*command.split(), "--store", store])


def refused(command: str, said: str, store: str = "store.db", code: int = 1) -> None:
    """Check that a command fails with one message and changes nothing."""
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    done = run(command, store)
    assert (done.exit_code, isinstance(done.exception, SystemExit)) == (code, True), command
    assert said in done.stderr, command
    assert "Traceback" not in done.stderr
    assert "canonry: " in done.stderr
    assert done.stdout == ""
    for name in ("store.db", "keep.txt"):
        after = Path(name).read_bytes() if Path(name).exists() else None
        assert after == before.get(name), command


def test_a_missing_store_is_not_made(store: Path) -> None:
    store.unlink()
    for command in (*READERS, *WRITERS[:3]):
        refused(command, "there is no store store.db; 'canonry crawl' makes one")
    assert not store.exists()


def test_a_folder_that_is_missing_or_no_file(store: Path) -> None:
    for command in WRITERS[3:]:
        refused(command, "there is no folder no/such", "no/such/store.db")
    for command in (*READERS, *WRITERS):
        refused(command, "it is a folder; name a file in it", str(store.parent))


@pytest.mark.parametrize(
    "url", ["postgresql://h:abc/x", "mysql://h/x", "nonsense", "sqlite://", "sqlite://a/b.db"]
)
def test_a_wrong_url_is_wrong_usage(store: Path, url: str) -> None:
    assert store.exists()
    for command in (*READERS, *WRITERS):
        refused(command, f"store {url}: ", url, code=2)


def cut(data: bytearray) -> None:
    """Cut the file in the middle."""
    del data[len(data) // 2 :]


def overwrite(data: bytearray) -> None:
    """Overwrite all pages after the first."""
    data[8192:] = b"\xff" * (len(data) - 8192)


def replace(data: bytearray) -> None:
    """Put another file in its place."""
    data[:] = b"This is no database, but long enough to be one. " * 1000


@pytest.mark.parametrize("damage", [cut, overwrite, replace])
def test_a_damaged_store(store: Path, damage: Callable[[bytearray], None]) -> None:
    data = bytearray(store.read_bytes())
    damage(data)
    store.write_bytes(data)
    said = "give another --store" if damage is replace else "sqlite3 store.db .recover"
    for command in (*READERS, *WRITERS):
        if command != "upgrade" or damage is not overwrite:  # it reads one page
            refused(command, said)


@pytest.mark.parametrize("damage", ["cut", "zeroed", "flipped"])
def test_a_damaged_log_ends_before_the_damage(store: Path, damage: str) -> None:
    """What follows it is lost, as with the power; what precedes it is read as it was written."""
    writer = sqlite3.connect(store, isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    for number in range(9):
        writer.execute("INSERT INTO refusals VALUES (?, 1, ?)", (f"reason {number}", "x" * 9000))
    log = bytearray(Path(f"{store}-wal").read_bytes())
    whole = store.read_bytes()
    writer.close()
    middle = len(log) // 2
    if damage == "cut":
        del log[middle:]
    elif damage == "zeroed":
        log[middle : middle + 4096] = bytes(4096)
    else:
        log[middle] ^= 1
    store.write_bytes(whole)
    Path(f"{store}-wal").write_bytes(log)
    with closing(sqlite3.connect(store)) as reader:
        found = [
            name
            for (name,) in reader.execute("SELECT reason FROM refusals WHERE sample LIKE 'xx%'")
        ]
    assert 1 < len(found) < 8
    assert found == [f"reason {number}" for number in range(len(found))]
    for command in READERS:
        assert run(command).exit_code == 0, command


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE meta SET value = '99' WHERE name = 'schema'", "it has schema 99"),
        ("UPDATE meta SET value = 'x' WHERE name = 'schema'", "the schema is no number"),
        ("DELETE FROM meta WHERE name = 'id'", "it is not one of our stores"),
        ("DROP TABLE meta", "none of Canonry's"),
    ],
)
def test_a_store_of_somebody_else(store: Path, change: str, said: str) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute(change)
    for command in (*READERS, *WRITERS):
        refused(command, said)
        assert "canonry: store sqlite:///store.db: " in run(command).stderr


def test_an_empty_file_is_not_read(store: Path) -> None:
    store.write_bytes(b"")
    for command in (*READERS, *WRITERS[:2]):
        refused(command, "it is empty; 'canonry crawl' fills it")


@pytest.mark.parametrize("closed", ["folder", "file"])
def test_what_cannot_be_written_can_be_read(store: Path, closed: str) -> None:
    expected = {command: run(command) for command in READERS}
    if closed == "folder":
        store.parent.chmod(0o555)
    else:
        store.chmod(0o444)
    before = sorted(store.parent.iterdir())
    with as_a_plain_user():
        for command in READERS:
            done = run(command)
            assert (done.exit_code, done.stderr) == (0, expected[command].stderr), command
            if "status" not in command:  # it names the time
                assert done.stdout == expected[command].stdout
        for command in WRITERS:
            refused(command, "it cannot be written; to crawl or to change rules, write permission")
    assert sorted(store.parent.iterdir()) == before


def test_a_log_in_a_folder_that_cannot_be_written_is_named(store: Path) -> None:
    writer = sqlite3.connect(store)
    writer.execute("PRAGMA journal_mode = WAL")
    with writer:
        writer.execute("INSERT INTO meta VALUES ('other', 'fact')")
    kept = Path(f"{store}-wal").read_bytes(), store.read_bytes()
    store.parent.chmod(0o555)
    with as_a_plain_user():
        assert run("status").exit_code == 0, "its index is there"
    store.parent.chmod(0o755)
    writer.close()
    Path(f"{store}-wal").write_bytes(kept[0])
    store.write_bytes(kept[1])
    store.parent.chmod(0o555)
    with as_a_plain_user():
        refused("status", "its last changes are in store.db-wal")


def test_a_store_that_changes_while_it_is_read_without_locks_is_read_again(store: Path) -> None:
    store.chmod(0o444)
    with (
        as_a_plain_user(),
        pytest.raises(StoreError, match="it was changed while it was read; read it again"),
        report.reading(str(store)),
    ):
        os.utime(store, (1, 1))


def test_a_store_that_another_process_holds_is_waited_for_and_told(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("canonry.storage.sql.sqlite_engine.BUSY_SECONDS", 0.1)
    monkeypatch.setattr("canonry.storage.store._SILENCE_SECONDS", 0.03)
    other = sqlite3.connect(store, isolation_level=None)
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("BEGIN EXCLUSIVE")
    for command in WRITERS:
        refused(command, "another process holds it: wait for that one, or stop it")
    for command in READERS:
        assert run(command).exit_code == 0, "readers do not wait"
    assert "writing to the store; waiting for it" in run(WRITERS[-1]).stderr
    other.close()


def test_a_full_disk_is_told_and_nothing_is_lost(store: Path) -> None:
    pages = store.stat().st_size // 8192

    def fill(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")

    Path("urls.txt").write_text("".join(f"http://x.example/{n}\n" for n in range(9000)))
    event.listen(Engine, "connect", fill)
    try:
        done = run("dedup urls.txt -o keep.txt")
    finally:
        event.remove(Engine, "connect", fill)
    assert done.exit_code == 1
    assert "disk is full; make room on its disk; nothing of the last step" in done.stderr
    assert not Path("keep.txt").exists()
    assert run("dedup urls.txt -o keep.txt").exit_code == 0
    assert len(Path("keep.txt").read_text().splitlines()) == 9000

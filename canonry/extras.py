"""The extras of the distribution: what needs them, and how to install them."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

# The packages of each extra, by the names under which they are imported.
PACKAGES = {
    "arrow": ("pyarrow",),
    "crawl": (
        *("aiohttp", "bitarray", "brotli", "jinja2", "multidict"),
        *("pybloom_live", "sqlalchemy", "yarl"),
    ),
    "crawl4ai": ("crawl4ai",),
    "crawlee": ("crawlee",),
    "datatrove": ("datatrove",),
    "dedup": ("click", "numpy", "rich", "warcio", "webencodings"),
    "duckdb": ("pyarrow", "duckdb"),
    "frontier": ("grpc", "google.protobuf"),
    "gs": ("fsspec", "gcsfs"),
    "https": ("fsspec",),
    "identity": ("cryptography", "http_message_signatures"),
    "metrics": ("prometheus_client",),
    "pandas": ("pyarrow", "pandas"),
    "polars": ("pyarrow", "polars"),
    "postgresql": ("psycopg",),
    "s3": ("fsspec", "s3fs"),
    "sail": ("pyarrow", "pandas", "grpc", "pyspark", "pysail"),
    "scrapy": ("scrapy",),
    "spark": ("pyarrow", "pandas", "pyspark"),
}


# What to install for a package whose name does not say it.
_DISTRIBUTIONS = {"google.protobuf": "protobuf", "grpc": "grpcio"}


class MissingExtraError(ImportError):
    """A feature needs a package that is not installed. The message says how to install it."""


def require(extra: str, feature: str) -> None:
    """Check that the packages of an extra can be imported.

    Args:
        extra: its name in ``pyproject.toml``.
        feature: what needs the extra, for the message: ``--warc``, ``Parquet``.

    Raises:
        MissingExtraError: if a package is missing.
    """
    for package in PACKAGES[extra]:
        try:
            import_module(package)
        except ImportError:
            raise _error(extra, package, feature) from None


@contextmanager
def naming_extra(feature: str) -> Iterator[None]:
    """Say which extra of the command has a module that a block imports.

    Args:
        feature: what needs the module, for the message: ``canonry crawl``.

    Raises:
        MissingExtraError: if a module is missing that an extra of the command has.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        for extra in ("dedup", "crawl"):
            if package in PACKAGES[extra]:
                raise _error(extra, package, feature) from None
        raise


def _error(extra: str, package: str, feature: str) -> MissingExtraError:
    # Canonry is not on PyPI, where anybody could take its name. So the hint names the checkout.
    needed = _DISTRIBUTIONS.get(package, package)
    return MissingExtraError(
        f"{feature} needs {needed}; in a checkout of Canonry: pip install '.[{extra}]'",
        name=package,
    )

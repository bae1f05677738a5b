"""The extras of the distribution: what needs them, and how to install them."""

from importlib import import_module

# The packages of each extra, by the names under which they are imported.
PACKAGES = {
    "arrow": ("pyarrow",),
    "crawl4ai": ("crawl4ai",),
    "crawlee": ("crawlee",),
    "datatrove": ("datatrove",),
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
    "warc": ("warcio",),
    "web": ("aiohttp_sse", "jinja2"),
    "yaml": ("yaml",),
}


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
            # Canonry is not on PyPI, where anybody could take its name. So the hint names the
            # checkout.
            raise MissingExtraError(
                f"{feature} needs {package}; in a checkout of Canonry: pip install '.[{extra}]'",
                name=package,
            ) from None

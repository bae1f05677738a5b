"""The accessor ``canonry`` of pandas' series."""

from typing import Any

import pandas as pd
import pyarrow as pa

from canonry.crawler.adapters.frames.arrow_functions import FUNCTIONS, apply


@pd.api.extensions.register_series_accessor("canonry")
class CanonryAccessor:
    """What Canonry makes of a series of URLs, with the same index and name.

    Missing URLs stay missing. Refused ones are missing, too, and `reason` says why.
    """

    def __init__(self, series: Any) -> None:  # noqa: ANN401 - pandas ships no types
        """Wrap a series."""
        self._series = series

    def _apply(self, name: str, policy: str) -> Any:  # noqa: ANN401 - pandas ships no types
        """Apply a function of the table to the series."""
        series = self._series
        urls = pa.array(series, from_pandas=True)
        column = apply(name, urls, policy)
        dtype: Any = "object"
        if isinstance(series.dtype, pd.ArrowDtype):
            return pd.Series(
                pd.array(column, dtype=pd.ArrowDtype(column.type)), series.index, name=series.name
            )
        if isinstance(series.dtype, pd.StringDtype) and not FUNCTIONS[name].is_binary:
            dtype = series.dtype
        return pd.Series(column.to_pylist(), series.index, dtype=dtype, name=series.name)

    def identity(self, policy: str = "web") -> Any:  # noqa: ANN401 - pandas ships no types
        """Return the canonical forms, as text."""
        return self._apply("identity", policy)

    def key(self, policy: str = "web") -> Any:  # noqa: ANN401 - pandas ships no types
        """Return the 16-byte keys."""
        return self._apply("key", policy)

    def surt(self, policy: str = "web") -> Any:  # noqa: ANN401 - pandas ships no types
        """Return the SURTs, which sort by host."""
        return self._apply("surt", policy)

    def host(self, policy: str = "web") -> Any:  # noqa: ANN401 - pandas ships no types
        """Return the hosts of the canonical forms."""
        return self._apply("host", policy)

    def reason(self, policy: str = "web") -> Any:  # noqa: ANN401 - pandas ships no types
        """Return the names of the reasons why URLs are refused."""
        return self._apply("reason", policy)

"""The namespace ``canonry`` of Polars' expressions and series."""

from functools import partial

import polars as pl

from canonry.crawler.adapters.frames.arrow_functions import FUNCTIONS, apply


def _apply(name: str, policy: str, urls: pl.Series) -> pl.Series:
    """Apply a function of the table to a series; keep the name of the series."""
    found = apply(name, urls.to_arrow(), policy)
    made = pl.Series(urls.name, found)
    return made.cast(_type(name))


def _type(name: str) -> type[pl.DataType]:
    return pl.Binary if FUNCTIONS[name].is_binary else pl.String


@pl.api.register_expr_namespace("canonry")
class CanonryExpr:
    """What Canonry makes of a column of URLs; refused URLs give null, and `reason` says why."""

    def __init__(self, expr: pl.Expr) -> None:
        """Wrap an expression."""
        self._expr = expr

    def _map(self, name: str, policy: str) -> pl.Expr:
        return self._expr.map_batches(
            partial(_apply, name, policy), return_dtype=_type(name), is_elementwise=True
        )

    def identity(self, policy: str = "web") -> pl.Expr:
        """Return the canonical forms, as text."""
        return self._map("identity", policy)

    def key(self, policy: str = "web") -> pl.Expr:
        """Return the 16-byte keys."""
        return self._map("key", policy)

    def surt(self, policy: str = "web") -> pl.Expr:
        """Return the SURTs, which sort by host."""
        return self._map("surt", policy)

    def host(self, policy: str = "web") -> pl.Expr:
        """Return the hosts of the canonical forms."""
        return self._map("host", policy)

    def reason(self, policy: str = "web") -> pl.Expr:
        """Return the names of the reasons why URLs are refused."""
        return self._map("reason", policy)


@pl.api.register_series_namespace("canonry")
class CanonrySeries:
    """What Canonry makes of a series of URLs."""

    def __init__(self, series: pl.Series) -> None:
        """Wrap a series."""
        self._series = series

    def identity(self, policy: str = "web") -> pl.Series:
        """Return the canonical forms, as text."""
        return _apply("identity", policy, self._series)

    def key(self, policy: str = "web") -> pl.Series:
        """Return the 16-byte keys."""
        return _apply("key", policy, self._series)

    def surt(self, policy: str = "web") -> pl.Series:
        """Return the SURTs, which sort by host."""
        return _apply("surt", policy, self._series)

    def host(self, policy: str = "web") -> pl.Series:
        """Return the hosts of the canonical forms."""
        return _apply("host", policy, self._series)

    def reason(self, policy: str = "web") -> pl.Series:
        """Return the names of the reasons why URLs are refused."""
        return _apply("reason", policy, self._series)

"""The SQL functions for DuckDB, over whole vectors through Arrow."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from canonry.extras import require

require("duckdb", "canonry.sql with DuckDB")

import duckdb  # noqa: E402 - optional
import pyarrow as pa  # noqa: E402 - optional
import pyarrow.compute as pc  # noqa: E402 - optional

from canonry.crawler.adapters.frames.arrow_functions import FUNCTIONS, apply  # noqa: E402 - optional


def register_functions(connection: Any) -> None:  # noqa: ANN401 - DuckDB's own
    """Add the functions to a connection.

    DuckDB's functions have a fixed number of arguments, so a macro gives the policy its default.
    The macros are temporary: nothing of ours is written to the database.
    """
    for name, function in FUNCTIONS.items():
        returns = "BLOB" if function.is_binary else "VARCHAR"
        inner = f"_canonry_{name}"
        with suppress(duckdb.CatalogException):  # another connection has created it
            connection.create_function(
                inner,
                _vector(name, binary=function.is_binary),
                ["VARCHAR", "VARCHAR"],
                returns,
                type="arrow",
                null_handling="special",
            )
        connection.execute(
            f"CREATE OR REPLACE TEMP MACRO canonry_{name}"
            f"(url) AS {inner}(url::VARCHAR, 'web'), (url, policy) AS {inner}(url::VARCHAR, policy)"
        )


def _vector(name: str, *, binary: bool) -> Callable[[Any, Any], Any]:
    """Return a function of a vector of URLs and a vector of policy names."""
    returns = pa.binary() if binary else pa.string()

    def function(urls: Any, policies: Any) -> Any:  # noqa: ANN401 - pyarrow ships no types
        names = pc.unique(policies).to_pylist()
        if len(names) == 1 and names[0] is not None:
            return apply(name, urls, names[0]).cast(returns)
        made = pa.chunked_array([pa.nulls(len(urls), returns)])
        for policy in names:
            if policy is not None:
                here = pc.fill_null(pc.equal(policies, policy), fill_value=False)
                found = apply(name, pc.if_else(here, urls, None), policy).cast(returns)
                made = pc.coalesce(made, found)
        return made

    return function

"""Dedup on a cluster: functions over Spark's data frames, for any Spark Connect, and PySpark 4.

A shuffled row is a 16-byte key and the URL that represents it so far; a task sends one row for each
key, however many lines have it. So neither a huge host nor a URL that is half of the input is too
large for a task.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from canonry.canon import Policy, RuleSet, columns
from canonry.canon.learned import loads
from canonry.canon.policies import preset

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_Batches = Iterator["pa.RecordBatch"]


def canonicalized(
    frame: "DataFrame",
    column: str = "url",
    *,
    policy: str | Policy = "web",
    rules: RuleSet | None = None,
) -> "DataFrame":
    """Add the canonical forms and keys of URLs to a frame.

    Args:
        frame: with a column of strings or bytes.
        column: its name.
        policy: the name of a preset, or a policy.
        rules: learned ones.

    Returns:
        The frame with the columns ``canonical`` (string), ``key`` (16 bytes) and ``reason``
        (string: the reason why a URL is refused; then the other two are null).
    """
    from pyspark.sql import types  # noqa: PLC0415 - optional

    made = preset(policy) if isinstance(policy, str) else policy
    schema = types.StructType(list(frame.schema.fields))
    schema = schema.add("canonical", "string").add("key", "binary").add("reason", "string")
    text = None if rules is None else rules.dumps()
    return frame.mapInArrow(_adding(column, made, text), schema)


def _adding(column: str, policy: Policy, rules: str | None) -> Callable[[_Batches], _Batches]:
    """Return the function that adds the columns to batches, in a task."""

    def add(batches: _Batches) -> _Batches:
        import pyarrow as pa  # noqa: PLC0415 - optional
        import pyarrow.compute as pc  # noqa: PLC0415 - optional

        learned = None if rules is None else loads(rules)
        for batch in batches:
            urls = batch[column].fill_null("")
            table: Any = columns.canonicalize(urls, policy=policy, rules=learned)
            identity, key, reason = (made.combine_chunks() for made in table.itercolumns())
            more = [identity, key.cast(pa.binary()), pc.utf8_lower(reason)]
            names = [*batch.schema.names, "canonical", "key", "reason"]
            yield pa.RecordBatch.from_arrays([*batch.columns, *more], names)

    return add


def distinct(
    frame: "DataFrame",
    column: str = "url",
    *,
    order: str | None = None,
    policy: str | Policy = "web",
    rules: RuleSet | None = None,
) -> "DataFrame":
    """Return one row for each distinct resource of a frame of URLs.

    Args:
        frame: with a column of strings or bytes.
        column: its name.
        order: the name of a column; the URL with the least value represents the others. Without it,
            the least URL does, so that the answer does not depend on how the data are split.
        policy: the name of a preset, or a policy.
        rules: learned ones.

    Returns:
        The columns ``key`` (16 bytes), ``url`` and ``rows`` (how many have the key). Texts that are
        no URL are left out; `canonicalized` gives the reason.
    """
    f = functions_of(frame)
    narrow = frame.select(*dict.fromkeys(name for name in (column, order) if name))
    keyed = canonicalized(narrow, column, policy=policy, rules=rules).where("key is not null")
    first = f.min_by(column, order or column) if order else f.min(column)
    return keyed.groupBy("key").agg(first.alias("url"), f.count("*").alias("rows"))


def functions_of(frame: "DataFrame") -> Any:  # noqa: ANN401 - a module
    """Return the functions over columns of a frame, which may be on a Spark Connect server."""
    is_remote = type(frame).__module__.startswith("pyspark.sql.connect.")
    return import_module(f"pyspark.sql.{'connect.' if is_remote else ''}functions")

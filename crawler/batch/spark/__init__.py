"""Dedup on a cluster: functions over Spark's data frames, for PySpark 4 with Java 17.

A shuffled row is a 16-byte key, the text that represents it so far, and the place of that text. A
task sends one row for each key, however many lines have it. So neither a huge host nor a URL that
is half of the input is too large for a task.
"""

from canonry.crawler.batch.spark.frames import canonicalized, distinct

__all__ = ["canonicalized", "distinct"]

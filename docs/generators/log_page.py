"""The page of the log and the metrics: made from the line's type and the tables of metrics."""

from generators.json_page import kind_of, schema_of

from canonry.crawler.observe import metrics

_LOG = """# Log and metrics

What programs see of a crawl while it runs. `make docs` makes this page from
`crawler/observe/log.py` and `crawler/observe/metrics.py`; fields and names stay, with their types,
and new ones may be added ([compatibility](compatibility.md#the-command)).

## The log

`canonry crawl --config crawl.log=FILE` appends a line of JSON for each URL, once its outcome is in
the store, and one for each message. Several workers can write to one file. If log rotation moves
the file away, a new one is started. `crawl.log=-` writes to standard error. Passwords in URLs are
`***`. Fields that do not apply to a line are left out.

| field | type | meaning |
|---|---|---|
"""
_METRICS = """
To see which host answers how often with which status:

```sh
jq -r 'select(.status) | [.status, (.url | split("/")[2])] | @tsv' crawl.log | sort | uniq -c
```

## Metrics

`canonry crawl --config crawl.metrics=9100` serves metrics for Prometheus at
`http://127.0.0.1:9100/metrics`, on this machine only, unless you give a host before the port
(`pip install '.[metrics]'` in the checkout). [deploy](../../deploy/README.md) has a Prometheus and
a Grafana with a dashboard of them.

Counters begin at 0 with each run. Gauges of the store are of all runs; while the store cannot be
read, they are left out.

| metric | type | label | meaning |
|---|---|---|---|
"""


def log_page() -> str:
    """Return the page."""
    fields = schema_of("crawl.log")["$defs"]["LogLine"]["properties"]
    return _LOG + "".join(_field_rows(fields)) + _METRICS + "".join(_metric_rows())


def _field_rows(fields: dict[str, dict[str, str]]) -> list[str]:
    return [
        f"| `{name}` | {kind_of(field)} | {field.get('description', '')} |\n"
        for name, field in fields.items()
    ]


def _metric_rows() -> list[str]:
    """Return a row for each metric, as Prometheus names it."""
    rows = [(f"{name}_total", "counter", "", about) for name, about, _ in metrics.COUNTERS]
    rows += [(name, "gauge", "", about) for name, about, _ in metrics.GAUGES]
    stored = [(name, label, about) for name, about, label, _ in metrics.STORED]
    rows += [(name, "gauge", f"`{label}`", about) for name, label, about in stored]
    name, about, label = metrics.MERGED
    rows += [(name, "gauge", f"`{label}`", about)]
    return [f"| `{row[0]}` | {row[1]} | {row[2]} | {row[3]} |\n" for row in rows]

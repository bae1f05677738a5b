"""What merged URLs beside the rules of a policy: how much, and an example; as fast in any store."""

from sqlalchemy import Connection, select

from canonry.canon import redact
from canonry.storage.clusters.equivalences import CONTENT, Equivalences
from canonry.storage.http_status import OK, PERMANENT_REDIRECTS
from canonry.storage.records import UNREAD
from canonry.storage.sql import counts
from canonry.storage.sql.schema import aliases

_LATEST = 200  # aliases of a kind, or pages, among which an example is looked for
_AT_ONCE = 20  # aliases that are read at once
_EQUAL = f"""
SELECT urls.url, first.url FROM (SELECT url_id, (
SELECT url_id FROM pages AS other WHERE other.digest = pages.digest AND status = {OK}
AND links <> {UNREAD} ORDER BY url_id LIMIT 1) AS first_id FROM pages WHERE status = {OK}
AND size > 0 AND links <> {UNREAD} ORDER BY url_id DESC LIMIT {_LATEST}) AS newest
JOIN urls ON urls.id = newest.url_id JOIN urls AS first ON first.id = newest.first_id
WHERE first_id < newest.url_id AND first.host_id = urls.host_id LIMIT 1"""  # noqa: S608 - our own numbers


def numbers(connection: Connection) -> dict[str, int]:
    """Return how many permanent redirects, temporary ones, canonical links and so on there are.

    Redirects and canonical links count whether they merge or not; of pages, those with a body that
    another has.
    """
    found = {CONTENT: counts.total_of(connection, counts.REPEATED)}
    for kind, status, number in counts.alias_counts(connection):
        is_temporary = kind == "redirect" and status not in PERMANENT_REDIRECTS
        name = "temporary" if is_temporary else kind
        found[name] = found.get(name, 0) + number
    return found


def example(connection: Connection, kind: str) -> tuple[str, str] | None:
    """Return one of the latest URLs that a kind of evidence merged, and what it leads to directly.

    None if none was: a redirect merges nothing if it leads to a sink, for one, or if its end did
    not answer 200.

    Args:
        connection: to a store.
        kind: redirect, canonical, rule or content.
    """
    if kind == CONTENT:
        equal = connection.exec_driver_sql(_EQUAL).first()
        return equal and (redact(equal[0]), redact(equal[1]))
    latest: list[tuple[int, int]] = []
    for of, status, _number in counts.alias_counts(connection):
        if of == kind and (kind != "redirect" or status in PERMANENT_REDIRECTS):
            which = (aliases.c.kind == kind, aliases.c.status == status)  # as the index has them
            query = select(aliases.c.id, aliases.c.from_id).where(*which).limit(_LATEST)
            latest += map(tuple, connection.execute(query.order_by(aliases.c.id.desc())))
    url_ids = [url_id for _id, url_id in sorted(latest, reverse=True)[:_LATEST]]
    equivalences = Equivalences(connection)
    for start in range(0, len(url_ids), _AT_ONCE):
        some = url_ids[start : start + _AT_ONCE]
        equivalences.prepare(some)
        for steps in (equivalences.led_end(one, awaited=True).steps for one in some):
            if steps and steps[0].kind == kind:
                return redact(steps[0].url), redact(steps[0].to)
    return None

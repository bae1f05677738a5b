"""Aliases after a change of policy: edges between rows that have become others."""

from sqlalchemy import Connection

# Where each edge leads now: targets by the key of the text that was given, ends by their new rows.
_MOVED = """
INSERT INTO rekey_edges (id, from_id, to_id, kind, status)
SELECT id, new_from, new_to, kind, status FROM (
    SELECT id, kind, status, from_id, to_id,
        coalesce((SELECT new_id FROM rekey_merged WHERE old_id = from_id), from_id) AS new_from,
        coalesce((SELECT new_id FROM rekey_merged WHERE old_id = given), given) AS new_to
    FROM (
        SELECT aliases.id, kind, status, from_id, aliases.to_id, coalesce(
            (SELECT min(rekey_urls.url_id) FROM rekey_links
             JOIN rekey_urls ON rekey_urls.key = rekey_links.key
             WHERE rekey_links.alias_id = aliases.id),
            aliases.to_id) AS given
        FROM aliases
    ) AS by_text
) AS by_row
WHERE new_from <> from_id OR new_to <> to_id
"""
# A rule that made a URL another one has nothing to say any more if they are one.
_SELF = "SELECT id FROM rekey_edges WHERE kind = 'rule' AND from_id = to_id"
_MET = """
INSERT INTO rekey_edges (id, from_id, to_id, kind, status)
SELECT aliases.id, aliases.from_id, aliases.to_id, aliases.kind, aliases.status FROM aliases
JOIN (SELECT DISTINCT from_id, to_id, kind, status FROM rekey_edges) AS moved
ON moved.from_id = aliases.from_id AND moved.to_id = aliases.to_id
AND moved.kind = aliases.kind AND moved.status = aliases.status
WHERE aliases.id NOT IN (SELECT id FROM rekey_edges)
"""
_JOIN = """
INSERT INTO rekey_joined (id, from_id, to_id, first_seen, last_seen, count)
SELECT min(aliases.id), rekey_edges.from_id, rekey_edges.to_id,
    min(first_seen), max(last_seen), sum(count)
FROM rekey_edges JOIN aliases ON aliases.id = rekey_edges.id
GROUP BY rekey_edges.from_id, rekey_edges.to_id, rekey_edges.kind, rekey_edges.status
"""
_GONE = """
DELETE FROM aliases WHERE id IN (SELECT id FROM rekey_edges)
AND id NOT IN (SELECT id FROM rekey_joined)
"""
# In two steps: an edge may take the place of one that itself moves on.
_LIFT = "UPDATE aliases SET from_id = -id WHERE id IN (SELECT id FROM rekey_joined)"
_SET = """
UPDATE aliases SET from_id = rekey_joined.from_id, to_id = rekey_joined.to_id,
    first_seen = rekey_joined.first_seen, last_seen = rekey_joined.last_seen,
    count = rekey_joined.count
FROM rekey_joined WHERE rekey_joined.id = aliases.id
"""


def move(connection: Connection) -> None:
    """Let all edges lead from and to the rows that are there after the change.

    Args:
        connection: in the transaction of the change, before rows are deleted.
    """
    connection.exec_driver_sql(_MOVED)
    connection.exec_driver_sql(f"DELETE FROM aliases WHERE id IN ({_SELF})")  # noqa: S608 - ours
    connection.exec_driver_sql("DELETE FROM rekey_edges WHERE kind = 'rule' AND from_id = to_id")
    for statement in (_MET, _JOIN, _GONE, _LIFT, _SET):
        connection.exec_driver_sql(statement)

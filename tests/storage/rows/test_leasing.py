"""Concurrent leases: each host has one owner, and no transaction blocks another."""

import threading
from pathlib import Path

from support.stores import admit, lease_names, open_store

from canonry.storage import Store
from canonry.storage.rows import leases as rows

HOSTS = [f"http://h{n}.example/" for n in range(20)]


def test_concurrent_leases_and_writes_never_block_each_other(tmp_path: Path) -> None:
    """Each host has one owner at a time; no deadlock, whatever the order of rows."""
    admitting = open_store(tmp_path)
    admit(admitting, HOSTS)
    faults: list[Exception] = []
    held: dict[str, str] = {}
    guard = threading.Lock()

    def work(store: Store, owner: str) -> None:
        try:
            for turn in range(25):
                with store.leasing() as connection:
                    got = lease_names(connection, owner, limit=7)
                    rows.pace(connection, dict.fromkeys(got, 0.0), {})
                with guard:
                    assert all(held.setdefault(host, owner) == owner for host in got)
                admit(
                    store,
                    [f"http://h{(turn * 7 + n) % 20}.example/{owner}{turn}" for n in range(9)],
                )
                with guard:
                    for host in got:
                        del held[host]
                with store.transaction() as connection:
                    rows.release(connection, [owner])
        except Exception as error:  # noqa: BLE001 - the test reports it
            faults.append(error)

    stores = [open_store(tmp_path) for _ in range(4)]
    threads = [threading.Thread(target=work, args=(s, f"w{n}")) for n, s in enumerate(stores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert faults == []
    assert not any(thread.is_alive() for thread in threads)
    for store in (*stores, admitting):
        store.close()

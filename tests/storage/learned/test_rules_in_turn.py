"""Rules are read in the turn: what another worker has learned by then is in force."""

from pathlib import Path

import pytest
from sqlalchemy import Connection
from support.stores import candidate, open_store

from canonry.canon.pipeline import Rewritten
from canonry.storage.sql import write_locks

pytestmark = pytest.mark.every_database


class Rules:
    """No rules; they remember where they were read last."""

    def __init__(self) -> None:
        self.read_in_turn: bool | None = None

    def refresh(self, connection: Connection) -> None:
        self.read_in_turn = write_locks.is_exclusive(connection)

    def forget(self) -> None:
        """Forget nothing."""

    def rewrite(self, _url: str) -> Rewritten | None:
        assert self.read_in_turn
        return None

    def choose_as_test(self, _rewritten: Rewritten, _now: float) -> bool:
        return False

    def is_gone(self, _rewritten: Rewritten) -> bool:
        return False


def test_the_rules_in_force_are_those_of_the_turn(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    rules = store.rules = Rules()
    for number in range(2):
        rules.read_in_turn = None
        store.admit([candidate(f"http://a.example/{number}")], 0.0)
        assert rules.read_in_turn
    store.close()

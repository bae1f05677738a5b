"""The second trial: a suspended rule is tried on what it holds."""

from pathlib import Path

from sqlalchemy import Connection
from support.stored_rules import REF, SLASH
from support.stores import MAKE, admit_names, assert_counts_are_right, open_store

from canonry.crawler.learn.rules import rule_store
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.crawler.learn.trials.second_trial import SecondTrials
from canonry.storage.learned import rule_rows
from canonry.storage.learned.tracked_rule import TrackedRule

H = "http://h.example"


def suspended_slash(connection: Connection) -> tuple[TrackedRule, RulesInForce]:
    """Import both rules, of which one is suspended; return it, and the rules in force."""
    rule_store.import_rules(connection, [SLASH, REF], MAKE, 2.0)
    rule = rule_store.find(connection, SLASH.id)
    rule.enter("suspended", 3.0)
    rule_rows.put(connection, [rule])
    return rule, rule_store.publish(connection, [rule.rewrite], MAKE, 3.0)[0]


def test_some_of_what_a_suspended_rule_holds_is_released_and_more_as_it_agrees(
    tmp_path: Path,
) -> None:
    store = open_store(tmp_path)
    admit_names(store, 40)
    trials = SecondTrials()
    with store.transaction() as connection:
        rule, in_force = suspended_slash(connection)

        def released() -> list[int]:
            return trials.release(connection, [rule], in_force)

        first = released()
        assert len(first) == 5
        assert released() == [], "they were not asked yet"
        rule.trial_agree = 3
        more = released()
        rule.trial_agree = 16
        rest = released()
        assert (len(more), len(rest)) == (3, 8)
        everything = [*first, *more, *rest]
        query = "SELECT url FROM urls WHERE state = 0 AND url LIKE '%/'"
        queued = set(connection.exec_driver_sql(query).scalars())
        assert len(queued) == len(set(everything)) == 16, "only what this rule changes"
        assert max(everything) - min(everything) > 60, "from all over the host"
        assert_counts_are_right(connection)
        assert trials.undecided(connection, [rule]) == [], "some have not answered"
        connection.exec_driver_sql(
            "UPDATE url_rows SET state = 1 WHERE state = 0 AND tail LIKE '%/'"
        )
        assert trials.undecided(connection, [rule]) == [rule]
        for longer in range(2):
            assert trials.extend(rule), "pages that were asked twice may still tell"
            assert trials.undecided(connection, [rule]) == []
            assert len(released()) == 1, "so there is an answer, after which it is decided on"
            connection.exec_driver_sql(
                "UPDATE url_rows SET state = 1 WHERE state = 0 AND tail LIKE '%/'"
            )
            assert trials.undecided(connection, [rule]) == [rule], longer
        assert sum(trials.extend(rule) for _ in range(40)) == 14, "but not for ever"
        rule.enter("active", 4.0)
        assert trials.undecided(connection, [rule]) == []
        assert released() == []
        rule.enter("suspended", 5.0)
        trials.clear()
        assert len(released()) == 5
        connection.exec_driver_sql(
            "UPDATE url_rows SET state = 1 WHERE state = 0 AND tail LIKE '%/'"
        )
        assert len(released()) == 5, "answers that say nothing do not end the trial"
    store.close()


def test_what_another_rule_holds_meanwhile_has_not_answered(tmp_path: Path) -> None:
    """Two rules that change the same URLs are suspended, and one of them comes back."""
    store = open_store(tmp_path)
    admit_names(store, 60)
    trials = SecondTrials()
    with store.transaction() as connection:
        rule, in_force = suspended_slash(connection)
        asked = trials.release(connection, [rule], in_force)
        rule.trial_agree = 16
        asked += trials.release(connection, [rule], in_force)
        assert len(asked) == 16
        connection.exec_driver_sql(
            "UPDATE url_rows SET state = 4, reason = 'learned' WHERE state = 0 AND tail LIKE '%/'"
        )
        assert trials.undecided(connection, [rule]) == [], "nothing was asked yet"
        rule.trial_agree = 0
        assert len(trials.release(connection, [rule], in_force)) == 5, "so the trial goes on"
    store.close()


def test_a_rule_that_held_nothing_is_tried_again_when_the_rules_have_changed(
    tmp_path: Path,
) -> None:
    """What another rule held is its own when that one is revoked."""
    store = open_store(tmp_path)
    admit_names(store, 60)
    trials = SecondTrials()
    with store.transaction() as connection:
        rule, in_force = suspended_slash(connection)
        held = "UPDATE url_rows SET state = {} WHERE state = {} AND tail LIKE '%/'"
        connection.exec_driver_sql(held.format(1, 4))
        assert trials.release(connection, [rule], in_force) == []
        connection.exec_driver_sql(held.format(4, 1))
        assert trials.release(connection, [rule], in_force) == [], "it is not looked at each time"
        in_force, _done = rule_store.publish(connection, [REF.rewrite], MAKE, 4.0)
        assert len(trials.release(connection, [rule], in_force)) == 5
    store.close()

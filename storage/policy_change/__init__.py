"""Changing a store's policy: new keys for all URLs, and one row for those that now share a key."""

from canonry.storage.policy_change.changing import Changed, NewPolicy, change, forecast
from canonry.storage.policy_change.examples import Example, Forecast
from canonry.storage.policy_change.swap import Target

__all__ = ["Changed", "Example", "Forecast", "NewPolicy", "Target", "change", "forecast"]

"""Copies of stores: the same rows in another database, or under the keys of another policy."""

from canonry.storage.copying.changing import Changed, change, forecast
from canonry.storage.copying.forecasts import Example, Forecast
from canonry.storage.copying.moving import move
from canonry.storage.copying.row_rewriting import NewPolicy, Target

__all__ = ["Changed", "Example", "Forecast", "NewPolicy", "Target", "change", "forecast", "move"]

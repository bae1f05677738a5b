"""Measured noise: pairs of answers of one URL each, and what follows from all of them. Pure."""

from collections.abc import Callable, Collection, Iterable
from typing import TypeAlias

from canonry.crawler.content.noise import Changing, Noise
from canonry.crawler.content.sketch import Sketch

Pair: TypeAlias = tuple[Sketch, Sketch]


class MeasuredNoise:
    """What changes by itself, measured on pairs of answers of one URL.

    Attributes:
        pairs: these.
        noise: what follows from them, whatever the site's template is.
    """

    def __init__(self, pairs: Iterable[Pair] = ()) -> None:
        """Measure on some pairs."""
        self.pairs: Collection[Pair] = tuple(pairs)
        self.noise = Noise.of(self.pairs)
        self._changing = Changing()
        self._measured_at = -1  # changes of the template

    def changing(self, template: int, differing: Callable[[Sketch, Sketch], int]) -> Changing:
        """Return how many shingles change by themselves, with a template.

        Args:
            template: how often that has changed.
            differing: returns how many shingles differ between two pages, the template apart.
        """
        if self._measured_at != template:
            each = [(differing(one, other), min(one.end, other.end)) for one, other in self.pairs]
            self._changing = Changing.of(each)
            self._measured_at = template
        return self._changing

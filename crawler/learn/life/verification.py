"""Which predictions of active rules are fetched all the same, to verify the rules."""

import hashlib
from collections import OrderedDict

from canonry.canon.syntax import Parts
from canonry.crawler.learn.life.thresholds import Threshold

_PLACES = 65_536


class Sampler:
    """Chooses predictions to verify. Remembers how often it was asked for each part of a host."""

    def __init__(self) -> None:
        """Start without any memory."""
        self._first: OrderedDict[tuple[str, str], int] = OrderedDict()

    def is_chosen(
        self, rule_id: str, identity: str, since_verified: float | None, threshold: Threshold
    ) -> bool:
        """Return True if a prediction is to be fetched, although the rule could spare it.

        Chosen are a share of all predictions, by a hash, so that the choice is the same on every
        machine and at any time; the first predictions in each part of a host; and the next
        prediction of a rule that was not verified for long.

        Args:
            rule_id: the id of the rule.
            identity: what the rule makes of the URL.
            since_verified: seconds since the rule was last verified; None if that is not known.
            threshold: of the rule's family.
        """
        chance = int.from_bytes(hashlib.blake2b(identity.encode(), digest_size=4).digest()) / 2**32
        if chance < threshold.verified:
            return True
        path = Parts.of(identity).path
        place = first_directory(path) or path
        seen = self._first.pop((rule_id, place), 0)
        self._first[rule_id, place] = seen + 1
        if len(self._first) > _PLACES:
            self._first.popitem(last=False)
        if seen < threshold.first and place.endswith("/"):
            return True
        return since_verified is not None and since_verified > threshold.verify_again


def first_directory(path: str) -> str:
    """Return the first segment of a path as a directory; "" for a path at the root."""
    end = path.find("/", 1)
    return path[: end + 1] if end > 1 else ""
